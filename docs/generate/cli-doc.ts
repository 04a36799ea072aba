import { createProgram } from '../../cli/src/create-program.ts';
import { addLocalCommands } from '../../cli/src/local-commands.ts';
import { GENERATED } from './markdown.ts';

type Command = ReturnType<typeof createProgram>;

const WIDTH = 100;

/** Returns what `--help` of a command prints. */
const helpOf = (command: Command): string => {
  let text = '';
  const write = (more: string): void => void (text += more);
  command.configureOutput({
    writeOut: write,
    writeErr: write,
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text.trim();
};

const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

const sectionsOf = (command: Command): string[] => [
  `## ${nameOf(command)}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`,
  // A name with an underscore belongs to a command for programs.
  ...command.commands.filter((one) => !one.name().startsWith('_')).flatMap(sectionsOf),
];

/** Returns the reference of the command line, generated from the help of each command. */
export const cliDoc = (): string => {
  const program = createProgram({ name: 'standin', colour: false, addMore: addLocalCommands });
  return `# Command line

${GENERATED}

\`kubectl standin\` has the same commands, except \`dev\` and \`completion\`. Without \`--server\`, \`--data\` or \`--clickhouse-url\`, it uses the
cluster of the current kubeconfig ([kubectl.md](../guides/kubectl.md#see-captured-requests)). In a checkout, run \`npx standin\`. A command exits with 0 after success, and
with 1 after a failure. The guides to [API keys](../guides/accounts.md#regeneration) and [purges](../guides/purge.md#from-the-command-line)
list further exit codes.

${sectionsOf(program).join('\n')}`;
};
