import type { Command, Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { complete, type FindNames } from './completion/complete.ts';
import { createProgram } from './create-program.ts';
import { LOCAL_COMMANDS } from './local-commands.ts';

const program = createProgram({ name: 'standin', colour: false, ...LOCAL_COMMANDS });

/** Returns the commands that do something, such as `key regenerate` but not `key`. */
const leaves = (command: Command): readonly Command[] =>
  command.commands.length === 0
    ? [command]
    : command.commands.filter((one) => !one.name().startsWith('_')).flatMap(leaves);

/** As `--help` prints it. */
const helpText = (command: Command): string => {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
};

const helpExamples = (command: Command): readonly string[] =>
  helpText(command)
    .split('\n')
    .filter((line) => line.startsWith('  standin '));

const commandPath = (command: Command): string =>
  command.parent === null ? command.name() : `${commandPath(command.parent)} ${command.name()}`;

describe('the help of every command', () => {
  it.each(leaves(program).map((command) => [commandPath(command), command] as const))(
    'has examples with existing options: %s',
    (name, command) => {
      const examples = helpExamples(command);
      expect(examples.length).toBeGreaterThan(0);
      const known = new Set(command.options.flatMap(({ short, long }: Option) => [short, long]));
      for (const example of examples) {
        expect(example.trim()).toMatch(new RegExp(`^${name}( |$)`));
        const flags = example.replaceAll(/'[^']*'/g, '').match(/(?<=\s)--?[a-z][\w-]*/gi) ?? [];
        expect(flags.filter((flag) => !known.has(flag))).toEqual([]);
      }
    },
  );
});

it('standin dev refuses a command that is blank, which would succeed without a test', () => {
  const exec = program.commands.find((one) => one.name() === 'dev')?.options.find(({ long }) => long === '--exec');
  const parse = (text: string): unknown => exec?.parseArg?.(text, undefined);
  expect(() => parse(' ')).toThrow('must not be empty');
  expect(parse('npm test')).toBe('npm test');
});

describe('the first help', () => {
  it('groups the commands for daily work, and has the others under admin', () => {
    const names = (command: Command): readonly string[] =>
      command.commands.map((one) => one.name()).filter((name) => !name.startsWith('_'));
    const admin = program.commands.find((one) => one.name() === 'admin');
    if (admin === undefined) throw new Error('the program has no command admin');
    expect(names(admin).toSorted()).toEqual(['adopt', 'drain', 'migrate', 'quarantine']);
    expect(names(program).filter((name) => names(admin).includes(name))).toEqual([]);
    expect(helpText(program).match(/^[A-Z].*:$/gm)).toEqual([
      'Options:',
      'Capture and read:',
      'Use captured requests:',
      'Manifests:',
      'Accounts:',
      'Cluster:',
      'Help:',
      'Examples:',
    ]);
  });
});

describe('an option with a number', () => {
  const numeric = leaves(program).flatMap((command) =>
    command.options
      .filter(({ flags }: Option) => /<(n|port)>$/.test(flags))
      .map((option) => [`${commandPath(command)} ${option.long ?? ''}`, option] as const),
  );

  it.each(numeric)('accepts only digits: %s', (_name, { parseArg }) => {
    expect(parseArg?.<unknown>('7', undefined)).toBe(7);
    for (const text of ['', ' ', '7.5', '-7', '0x7', '7e0', 'seven', '9'.repeat(20)]) {
      expect(() => parseArg?.<unknown>(text, undefined)).toThrow(/^must be a /);
    }
  });

  it('exists in the commands that have one', () => {
    expect(numeric.map(([name]) => name)).toContain('standin admin drain --quiet-seconds');
  });
});

describe('completion', () => {
  const findNames: FindNames = (what, given) =>
    Promise.resolve([{ word: `${what}-${given['project'] ?? 'any'}`, description: '' }]);
  const wordsAfter = async (...words: readonly string[]): Promise<readonly string[]> =>
    (await complete(program, words, findNames)).map(({ word }) => word);

  it.each<[string, readonly string[], readonly string[]]>([
    ['commands', ['lo'], ['logs']],
    ['commands of a command', ['key', ''], ['show', 'regenerate', 'help']],
    ['long options', ['logs', '--lim'], ['--limit']],
    ['values of an option', ['explain', '--method', 'P'], ['POST', 'PUT', 'PATCH']],
    ['values after an equals sign', ['explain', '--method=PU'], ['--method=PUT']],
    ['arguments with choices', ['admin', 'adopt', ''], ['account', 'project']],
    ['names that a running Standin knows', ['logs', '-p', ''], ['project-any']],
    ['names within the options before them', ['logs', '-p', 'shop', '-e', ''], ['endpoint-shop']],
    ['the same with an equals sign', ['logs', '--project=shop', '-e', ''], ['endpoint-shop']],
    ['arguments that a running Standin knows', ['share', 'ID'], ['ID-any']],
    ['nothing after the last argument', ['share', 'x', ''], []],
    ['no options after --', ['share', '--', '--'], []],
    ['nothing for an unknown option', ['logs', '--nope', '--n'], ['--namespace']],
  ])('offers %s', async (_, words, expected) => {
    expect(await wordsAfter(...words)).toEqual(expected);
  });

  it('describes commands and options, and hides its own command', async () => {
    const commands = await complete(program, [''], findNames);
    expect(commands.find(({ word }) => word === 'logs')?.description).toBe('list captured requests, newest last');
    expect(commands.filter(({ word }) => word.startsWith('_'))).toEqual([]);
  });
});
