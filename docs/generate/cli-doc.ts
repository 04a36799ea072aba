import { CLICKHOUSE_OPTIONS } from '../../cli/src/clickhouse-options.ts';
import { createProgram } from '../../cli/src/create-program.ts';
import { LOCAL_COMMANDS } from '../../cli/src/local-commands.ts';
import { FILTER_OPTIONS } from '../../cli/src/logs/log-commands.ts';
import { CONNECTION_OPTIONS } from '../../cli/src/server/server-options.ts';
import { headingSlug } from './heading-slug.ts';
import { GENERATED } from './markdown.ts';

type Command = ReturnType<typeof createProgram>;
type Option = Command['options'][number];

const WIDTH = 100;

interface SharedOptions {
  /** The heading of the group in the help of a command. */
  readonly heading: string;
  readonly title: string;
  readonly text: string;
}

/** The groups of options that several commands have. The page lists each once. */
const SHARED: readonly SharedOptions[] = [
  { heading: FILTER_OPTIONS, title: 'Filter options', text: 'These options select captured requests.' },
  {
    heading: CONNECTION_OPTIONS,
    title: 'Connection options',
    text: 'These options select the `standin dev`, the dashboard or the cluster that a command uses.',
  },
  {
    heading: CLICKHOUSE_OPTIONS,
    title: 'ClickHouse options',
    text: 'These options apply together with `--clickhouse-url`.',
  },
];

/** The command whose help has all shared options. */
const allShared = (program: Command): Command | undefined =>
  program.commands.find((command) => command.name() === 'logs');

const optionsIn = (command: Command | undefined, group: SharedOptions): readonly Option[] =>
  command?.options.filter(({ helpGroupHeading }) => helpGroupHeading === group.heading) ?? [];

/** Returns what `--help` of a command prints, without the options that the page lists once. */
const helpText = (command: Command): string => {
  let text = '';
  const write = (more: string): void => void (text += more);
  command.configureOutput({
    writeOut: write,
    writeErr: write,
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  });
  for (const option of SHARED.flatMap((group) => optionsIn(command, group))) option.hideHelp();
  command.helpOption(false);
  command.outputHelp();
  return text.trim();
};

const fullName = (command: Command): string =>
  command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;

/** Returns a sentence about the shared options of a command. If it has only some of a group, the sentence names them. */
const sharedText = (command: Command, all: Command | undefined): string => {
  const links = SHARED.flatMap((group) => {
    const own = optionsIn(command, group);
    const link = `[${group.title}](#${headingSlug(group.title)})`;
    if (own.length === 0) return [];
    if (own.length === optionsIn(all, group).length) return [link];
    return [`${own.map(({ long }) => `\`${long}\``).join(', ')} of the ${link}`];
  });
  return links.length === 0 ? '' : `\nIt also has: ${links.join('; ')}.\n`;
};

/** Returns the sections of a command and its subcommands. A command that only groups others has none of its own. */
const commandSections = (command: Command, all: Command | undefined): string[] => [
  ...(command.parent === null || command.commands.length === 0
    ? [`## ${fullName(command)}\n\n\`\`\`text\n${helpText(command)}\n\`\`\`\n${sharedText(command, all)}`]
    : []),
  // A name with an underscore belongs to a command for programs.
  ...command.commands.filter((one) => !one.name().startsWith('_')).flatMap((one) => commandSections(one, all)),
];

/** Returns a section with the lines of `--help` for a group of shared options. */
const sharedSection = (group: SharedOptions, program: Command): string => {
  const help = program.createHelp();
  help.helpWidth = WIDTH;
  const options = optionsIn(allShared(program), group);
  const width = Math.max(...options.map((option) => help.optionTerm(option).length));
  const lines = options.map((option) =>
    help.formatItem(help.optionTerm(option), width, help.optionDescription(option), help),
  );
  return `## ${group.title}\n\n${group.text}\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\`\n`;
};

/** Returns the reference of the command line, generated from the help of each command. */
export const cliDoc = (): string => {
  const program = createProgram({ name: 'standin', colour: false, ...LOCAL_COMMANDS });
  return `# Command line

${GENERATED}

\`kubectl standin\` has the same commands, except \`dev\` and \`completion\`. Without \`--server\`, \`--data\` or \`--clickhouse-url\`, it uses the
cluster of the current kubeconfig ([kubectl.md](../guides/kubectl.md#see-captured-requests)). In a checkout, run \`npx standin\`. A command exits
with 0 after success, and with 1 after a failure, unless its help names other codes. Every command has \`--help\`.

${SHARED.map((group) => sharedSection(group, program)).join('\n')}
${commandSections(program, allShared(program)).join('\n')}`;
};
