import type { Command, Option } from 'commander';

/** A word that a shell offers. */
export interface Candidate {
  readonly word: string;
  /** Empty if the word needs no description. */
  readonly description: string;
}

/** Values of options on the command line, by the option's attribute name. */
export type Given = Readonly<Record<string, string>>;

/** Resolves with the values of an option or argument that only a running Standin knows. */
export type FindNames = (what: string, given: Given) => Promise<readonly Candidate[]>;

/** What can follow the words before the cursor: commands, options, or the value of an option or argument. */
interface Place {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly option: Option | undefined;
  /** The number of arguments before the cursor. */
  readonly position: number;
  readonly given: Given;
  /** Whether options have ended with `--`. */
  readonly isLiteral: boolean;
}

/**
 * Resolves with the words that can replace the last of `words`, which are those after the program's name. The last one is empty if
 * the cursor follows a space. Resolves with none where a file name or free text belongs.
 */
export const complete = async (
  program: Command,
  words: readonly string[],
  findNames: FindNames,
): Promise<readonly Candidate[]> => {
  const current = words.at(-1) ?? '';
  const place = placeAfter(program, words.slice(0, -1));
  const [, name = '', start] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  const option = start === undefined ? place.option : findOption(place.command, name);
  const all =
    option === undefined ? await wordsAt(place, current, findNames) : await optionValues(option, place, findNames);
  const prefix = start === undefined ? '' : `${name}=`;
  return all
    .map(({ word, description }) => ({ word: `${prefix}${word}`, description }))
    .filter(({ word }) => word.startsWith(current));
};

const placeAfter = (program: Command, words: readonly string[]): Place => {
  let place: Place = { command: program, option: undefined, position: 0, given: {}, isLiteral: false };
  for (const word of words) place = next(place, word);
  return place;
};

const next = (place: Place, word: string): Place => {
  const { command, option, position, given, isLiteral } = place;
  if (option !== undefined) {
    return { ...place, option: undefined, given: { ...given, [option.attributeName()]: word } };
  }
  if (isLiteral) return { ...place, position: position + 1 };
  if (word === '--') return { ...place, isLiteral: true };
  const [flag = '', value] = word.split(/=(.*)/s, 2);
  if (word.startsWith('-')) {
    const found = findOption(command, flag);
    if (found === undefined || !takesValue(found)) return place;
    return value === undefined
      ? { ...place, option: found }
      : { ...place, given: { ...given, [found.attributeName()]: value } };
  }
  const child = position === 0 ? command.commands.find((one) => one.name() === word) : undefined;
  return child === undefined ? { ...place, position: position + 1 } : { ...place, command: child };
};

const takesValue = ({ required, optional }: Option): boolean => required || optional;

const findOption = (command: Command, flag: string): Option | undefined =>
  command.options.find(({ short, long }) => flag === short || flag === long);

const wordsAt = async (place: Place, current: string, findNames: FindNames): Promise<readonly Candidate[]> => {
  const { command, position, given, isLiteral } = place;
  const help = command.createHelp();
  if (current.startsWith('-') && !isLiteral) {
    return help
      .visibleOptions(command)
      .flatMap(({ long, short, description }) => [long, short].map((word) => ({ word: word ?? '', description })))
      .filter(({ word }) => word !== '' && (word.startsWith('--') || current === '-'));
  }
  if (command.commands.length > 0) {
    return help
      .visibleCommands(command)
      .map((one) => ({ word: one.name(), description: one.summary() || one.description() }));
  }
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[position] ?? (last?.variadic === true ? last : undefined);
  if (argument === undefined) return [];
  return argument.argChoices?.map(plain) ?? findNames(argument.name(), given);
};

const optionValues = async (option: Option, { given }: Place, findNames: FindNames): Promise<readonly Candidate[]> =>
  option.argChoices?.map(plain) ?? findNames(option.attributeName(), given);

const plain = (word: string): Candidate => ({ word, description: '' });
