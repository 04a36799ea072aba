import { printable } from '@standin/contract';
import { Argument, type Command } from 'commander';
import { withExamples } from '../examples.ts';
import { stdout } from '../terminal.ts';
import { complete } from './complete.ts';
import { COMPLETE_COMMAND, COMPLETION_SCRIPTS, SHELLS, type Shell } from './scripts.ts';

export const addCompletionCommand = (program: Command): void => {
  const command = program
    .command('completion')
    .description('print a script with which a shell completes commands, options, names and ids')
    .addArgument(new Argument('<SHELL>').choices(SHELLS))
    .action((shell: Shell) => stdout.lines(COMPLETION_SCRIPTS[shell]));
  withExamples(
    command,
    ['Bash: load it with source <(standin completion bash), for example in ~/.bashrc', 'completion bash'],
    ['Zsh: load it with source <(standin completion zsh), after compinit in ~/.zshrc', 'completion zsh'],
    ['Fish: write it to the folder of completions', 'completion fish > ~/.config/fish/completions/standin.fish'],
  );
  addCompleteCommand(program);
};

/** Adds the hidden command that completes words for a shell, or for kubectl's own completion. */
export const addCompleteCommand = (program: Command): void => {
  program
    .command(COMPLETE_COMMAND, { hidden: true })
    .argument('[WORD...]')
    .action(async (words: readonly string[]) => {
      // Loaded on demand, because a static import would slow down every command.
      const { localNames } = await import('./local-names.ts');
      const candidates = await complete(program, words, localNames);
      for (const { word, description } of candidates) {
        stdout.bytes(Buffer.from(`${printable(word)}\t${printable(description)}\n`));
      }
    });
};
