import { createProgram } from '../../cli/src/create-program.ts';
import { LOCAL_COMMANDS } from '../../cli/src/local-commands.ts';
import { CONNECTION_OPTIONS } from '../../cli/src/server/server-options.ts';
import { GENERATED } from './markdown.ts';

type Command = ReturnType<typeof createProgram>;
type Option = Command['options'][number];

const WIDTH = 100;

/** The command whose help has all connection options. */
const CONNECTED = 'logs';

const isConnectionOption = ({ helpGroupHeading }: Option): boolean => helpGroupHeading === CONNECTION_OPTIONS;

/** Returns what `--help` of a command prints, without the options that the page lists once. */
const helpOf = (command: Command): string => {
  let text = '';
  const write = (more: string): void => void (text += more);
  command.configureOutput({
    writeOut: write,
    writeErr: write,
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  });
  for (const option of command.options) option.hideHelp(isConnectionOption(option));
  command.helpOption(false);
  command.outputHelp();
  return text.trim();
};

const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

/** Returns a sentence about the connection options of a command: their names if it does not have all of them. */
const connectionText = (command: Command): string => {
  const own = command.options.filter(isConnectionOption);
  if (own.length === 0) return '';
  const link = '[connection options](#connection-options)';
  if (own.some(({ long }) => long === '--server')) return `\nIt also has the ${link}.\n`;
  return `\nIt also has these ${link}: ${own.map(({ long }) => `\`${long}\``).join(', ')}.\n`;
};

const sectionsOf = (command: Command): string[] => [
  `## ${nameOf(command)}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n${connectionText(command)}`,
  // A name with an underscore belongs to a command for programs.
  ...command.commands.filter((one) => !one.name().startsWith('_')).flatMap(sectionsOf),
];

/** Returns the lines of `--help` for the options that select a dashboard or a cluster. */
const connectionOptions = (program: Command): string => {
  const help = program.createHelp();
  help.helpWidth = WIDTH;
  const connected = program.commands.find((command) => command.name() === CONNECTED);
  const options = connected?.options.filter(isConnectionOption) ?? [];
  const width = Math.max(...options.map((option) => help.optionTerm(option).length));
  return options
    .map((option) => help.formatItem(help.optionTerm(option), width, help.optionDescription(option), help))
    .join('\n');
};

/** Returns the reference of the command line, generated from the help of each command. */
export const cliDoc = (): string => {
  const program = createProgram({ name: 'standin', colour: false, ...LOCAL_COMMANDS });
  return `# Command line

${GENERATED}

\`kubectl standin\` has the same commands, except \`dev\` and \`completion\`. Without \`--server\`, \`--data\` or \`--clickhouse-url\`, it uses the
cluster of the current kubeconfig ([kubectl.md](../guides/kubectl.md#see-captured-requests)). In a checkout, run \`npx standin\`. A command exits with 0 after success, and
with 1 after a failure. The guides to [API keys](../guides/accounts.md#regeneration) and [purges](../guides/purge.md#from-the-command-line)
list further exit codes.

## Connection options

These options select the dashboard or the cluster that a command uses. Every command also has \`--help\`.

\`\`\`text
${connectionOptions(program)}
\`\`\`

${sectionsOf(program).join('\n')}`;
};
