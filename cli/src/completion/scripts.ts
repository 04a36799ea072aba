/** The shells for which `standin completion` prints a script. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * The hidden command that the scripts call with the words on the command line, up to the cursor. It prints one candidate per line:
 * the word and, after a tab, its description. Without candidates, the shell completes file names.
 */
export const COMPLETE_COMMAND = '__complete';

const BASH = `# standin completion for bash. Load it with: source <(standin completion bash)
_standin() {
  local line="\${COMP_LINE:0:COMP_POINT}" words current word="\${COMP_WORDS[COMP_CWORD]}" kept candidate
  # Bash splits words at = and :, but standin needs them whole.
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=('')
  current="\${words[\${#words[@]} - 1]}"
  # Readline replaces only the part after the last = or :.
  kept="\${current%"$word"}"
  [[ "$word" == [=:] ]] && kept="$current"
  COMPREPLY=()
  while IFS= read -r candidate; do
    COMPREPLY+=("\${candidate#"$kept"}")
  done < <("\${words[0]}" ${COMPLETE_COMMAND} -- "\${words[@]:1}" 2> /dev/null | cut -f 1)
}
complete -o default -F _standin standin
`;

const ZSH = `#compdef standin
# standin completion for zsh. Load it after compinit with: source <(standin completion zsh)
_standin() {
  local -a candidates
  local word description
  while IFS=$'\\t' read -r word description; do
    candidates+=("\${word//:/\\\\:}\${description:+:$description}")
  done < <("\${words[1]}" ${COMPLETE_COMMAND} -- "\${(@)words[2,CURRENT]}" 2> /dev/null)
  if (( $#candidates )); then _describe standin candidates; else _files; fi
}
if [[ "$funcstack[1]" == _standin ]]; then _standin "$@"; else compdef _standin standin; fi
`;

const FISH = `# standin completion for fish. Load it with: standin completion fish | source
function __standin_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l candidates ($words[1] ${COMPLETE_COMMAND} -- $words[2..-1] 2> /dev/null)
  if set -q candidates[1]
    printf '%s\\n' $candidates
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c standin -f -a '(__standin_complete)'
`;

export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
