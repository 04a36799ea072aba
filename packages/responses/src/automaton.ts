import type { RE2JS } from '@bufbuild/re2';
import type { Budget } from './budget.ts';

type Program = ReturnType<RE2JS['re2']>['prog'];
type Instructions = Program['inst'];

// The operations of instructions in @bufbuild/re2, which does not export them.
const ALT = 1;
const ALT_MATCH = 2;
const CAPTURE = 3;
const EMPTY_WIDTH = 4;
const MATCH = 6;
const NOP = 7;
const RUNE = 8;

// What is true between two characters: the flags of an EMPTY_WIDTH instruction.
const BEGIN_LINE = 1;
const END_LINE = 2;
const BEGIN_TEXT = 4;
const END_TEXT = 8;
const WORD_BOUNDARY = 16;
const NO_WORD_BOUNDARY = 32;

// What a match charges to the budget of a request: to start, to read a character, to compare it with an instruction, and to reach one.
const START_UNITS = 12;
const CHARACTER_UNITS = 2;
const COMPARISON_UNITS = 1;
const VISIT_UNITS = 0.5;
/** Instructions whose working memory is cleared in the time of one unit. */
const INSTRUCTIONS_PER_UNIT = 32;

const NEWLINE = 10;
/** Stands for the character before the first one and after the last one. */
const NONE = -1;

/** The working memory of a match. All matches share it, because a match is never interrupted. It grows to the largest program. */
interface Scratch {
  /** The position in the text at which an instruction was reached last. */
  readonly reachedAt: Int32Array;
  readonly pending: Int32Array;
  current: Int32Array;
  next: Int32Array;
  /** The instructions that were reached since the last charge. */
  visits: number;
}
const newScratch = (instructions: number): Scratch => ({
  reachedAt: new Int32Array(instructions),
  pending: new Int32Array(instructions),
  current: new Int32Array(instructions),
  next: new Int32Array(instructions),
  visits: 0,
});
let scratch = newScratch(256);

/**
 * Runs a program of `@bufbuild/re2`. It follows all alternatives at the same time, so it visits each instruction at most once per character. It
 * keeps nothing. The library's own matcher keeps each combination of alternatives that occurs, and takes ten times longer
 * to compute one. With some programs, a caller can send text that leads to a new one at each character.
 */
export class Automaton {
  readonly #start: number;
  readonly #instructions: Instructions;
  readonly #operations: Uint8Array;
  readonly #outs: Int32Array;
  readonly #args: Int32Array;

  constructor({ inst, start }: Program) {
    this.#start = start;
    this.#instructions = inst;
    this.#operations = Uint8Array.from(inst, ({ op }) => op);
    this.#outs = Int32Array.from(inst, ({ out }) => out);
    this.#args = Int32Array.from(inst, ({ arg }) => arg);
    if (inst.length > scratch.reachedAt.length) scratch = newScratch(inst.length);
  }

  /** Returns whether the program matches the whole text. Throws `BudgetExhausted`. */
  matches(text: string, budget: Budget): boolean {
    return this.#run(text, budget, false);
  }

  /** Returns whether the program matches a part of the text. Throws `BudgetExhausted`. */
  matchesPart(text: string, budget: Budget): boolean {
    return this.#run(text, budget, true);
  }

  #run(text: string, budget: Budget, anywhere: boolean): boolean {
    budget.charge(START_UNITS + this.#instructions.length / INSTRUCTIONS_PER_UNIT);
    scratch.reachedAt.fill(NONE, 0, this.#instructions.length);
    let position = 0;
    let following = characterAt(text, position);
    let count = this.#follow(this.#start, 0, position, flagsBetween(NONE, following));
    chargeVisits(budget);
    swap();
    while (following !== NONE && (count > 0 || anywhere)) {
      const character = following;
      position += character > 0xffff ? 2 : 1;
      following = characterAt(text, position);
      const context = flagsBetween(character, following);
      budget.charge(CHARACTER_UNITS + count * COMPARISON_UNITS);
      let reached = 0;
      for (let index = 0; index < count; index++) {
        const at = scratch.current[index] ?? 0;
        if (this.#operations[at] === MATCH) {
          if (anywhere) return true;
        } else if (this.#instructions[at]?.matchRune(character) === true)
          reached = this.#follow(this.#outs[at] ?? 0, reached, position, context);
      }
      count = anywhere ? this.#follow(this.#start, reached, position, context) : reached;
      chargeVisits(budget);
      swap();
    }
    return scratch.current.subarray(0, count).some((at) => this.#operations[at] === MATCH);
  }

  /** Adds the instructions that are reached from `first` without another character. Returns how many there are in `scratch.next`. */
  #follow(first: number, count: number, position: number, context: number): number {
    const { reachedAt, pending, next } = scratch;
    let waiting = 0;
    for (let at = first; ; at = pending[--waiting] ?? 0) {
      while (reachedAt[at] !== position) {
        reachedAt[at] = position;
        scratch.visits += 1;
        const operation = this.#operations[at] ?? 0;
        const out = this.#outs[at] ?? 0;
        if (operation === ALT || operation === ALT_MATCH) pending[waiting++] = this.#args[at] ?? 0;
        else if (operation === EMPTY_WIDTH && ((this.#args[at] ?? 0) & ~context) !== 0) break;
        else if (operation !== CAPTURE && operation !== NOP && operation !== EMPTY_WIDTH) {
          if (operation >= RUNE || operation === MATCH) next[count++] = at;
          break;
        }
        at = out;
      }
      if (waiting === 0) return count;
    }
  }
}

const chargeVisits = (budget: Budget): void => {
  const units = scratch.visits * VISIT_UNITS;
  scratch.visits = 0;
  budget.charge(units);
};

const swap = (): void => {
  const { current, next } = scratch;
  scratch.current = next;
  scratch.next = current;
};

const characterAt = (text: string, position: number): number => text.codePointAt(position) ?? NONE;

const flagsBetween = (before: number, after: number): number =>
  (before === NONE ? BEGIN_TEXT | BEGIN_LINE : before === NEWLINE ? BEGIN_LINE : 0) |
  (after === NONE ? END_TEXT | END_LINE : after === NEWLINE ? END_LINE : 0) |
  (isWord(before) === isWord(after) ? NO_WORD_BOUNDARY : WORD_BOUNDARY);

/** Returns whether a character is one of `[0-9A-Za-z_]`. */
const isWord = (character: number): boolean =>
  (character >= 0x61 && character <= 0x7a) ||
  (character >= 0x41 && character <= 0x5a) ||
  (character >= 0x30 && character <= 0x39) ||
  character === 0x5f;
