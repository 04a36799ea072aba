import { createProgram } from '../../cli/src/create-program.ts';
import { LOCAL_COMMANDS } from '../../cli/src/local-commands.ts';
import { CLICKHOUSE_OPTIONS } from '../../cli/src/clickhouse-options.ts';
import { CONNECTION_OPTIONS } from '../../cli/src/server/server-options.ts';
import { GENERATED } from './markdown.ts';

type Command = ReturnType<typeof createProgram>;
type Option = Command['options'][number];

const WIDTH = 100;

/** A command whose help has all shared options. */
const SHARING = 'logs';

const isConnectionOption = ({ helpGroupHeading }: Option): boolean => helpGroupHeading === CONNECTION_OPTIONS;
const isClickHouseOption = ({ helpGroupHeading }: Option): boolean => helpGroupHeading === CLICKHOUSE_OPTIONS;

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
  for (const option of command.options) option.hideHelp(isConnectionOption(option) || isClickHouseOption(option));
  command.helpOption(false);
  command.outputHelp();
  return text.trim();
};

const nameOf = (command: Command): string =>
  command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;

/** Returns a sentence about the shared options of a command, with their names if it has only some of the connection options. */
const sharedText = (command: Command): string => {
  const connection = command.options.filter(isConnectionOption);
  const links = [];
  if (command.options.some(isClickHouseOption)) links.push('the [ClickHouse options](#clickhouse-options)');
  if (connection.some(({ long }) => long === '--server')) links.push('the [connection options](#connection-options)');
  else if (connection.length > 0) {
    const names = connection.map(({ long }) => `\`${long}\``).join(', ');
    links.push(`these [connection options](#connection-options): ${names}`);
  }
  return links.length === 0 ? '' : `\nIt also has ${links.join(', and ')}.\n`;
};

/** Returns the sections of a command and its subcommands. A command that only groups others has none of its own. */
const sectionsOf = (command: Command): string[] => [
  ...(command.parent === null || command.commands.length === 0
    ? [`## ${nameOf(command)}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n${sharedText(command)}`]
    : []),
  // A name with an underscore belongs to a command for programs.
  ...command.commands.filter((one) => !one.name().startsWith('_')).flatMap(sectionsOf),
];

/** Returns the lines of `--help` for options that several commands have. */
const sharedOptions = (program: Command, isShared: (option: Option) => boolean): string => {
  const help = program.createHelp();
  help.helpWidth = WIDTH;
  const sharing = program.commands.find((command) => command.name() === SHARING);
  const options = sharing?.options.filter(isShared) ?? [];
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
cluster of the current kubeconfig ([kubectl.md](../guides/kubectl.md#see-captured-requests)). In a checkout, run \`npx standin\`. A command exits
with 0 after success, and with 1 after a failure, unless its help names other codes. Every command has \`--help\`.

## Connection options

These options select the dashboard or the cluster that a command uses.

\`\`\`text
${sharedOptions(program, isConnectionOption)}
\`\`\`

## ClickHouse options

These options apply together with \`--clickhouse-url\`.

\`\`\`text
${sharedOptions(program, isClickHouseOption)}
\`\`\`

${sectionsOf(program).join('\n')}`;
};
