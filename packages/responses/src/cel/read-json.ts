import { celList, celMap, celUint, type CelValue } from '@bufbuild/cel';
import { LIMITS, ownMember } from '@standin/contract';
import type { Budget } from '../budget.ts';
import { ExpressionError } from './expression-error.ts';
import { keepNumberTexts, withNumberText, type NumberTexts } from './number-texts.ts';

const SPACE = /[ \t\n\r]*/y;
const PLAIN_STRING = /"([ !#-[\]-\uffff]*)"/y;
const ESCAPED_STRING = /"(?:[ !#-[\]-\uffff]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;
const WORDS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

// What a document charges in addition to its length: for a value, for the name of a member, and for a string with escapes.
const VALUE_UNITS = 12;
const MEMBER_UNITS = 30;
const ESCAPED_UNITS = 20;
const ESCAPED_CHARACTERS_PER_UNIT = 2;

/** The digits of the largest 64-bit integer, and a sign. */
const INTEGER_LENGTH_MAX = 20;

// These phrases follow the name of the text.
const NOT_JSON = 'is not a JSON document';
const TOO_MANY = `has more than ${LIMITS.expressionJsonNodesMax} JSON values`;
const TOO_DEEP = `has more than ${LIMITS.expressionJsonNestingMax} levels of JSON`;

/**
 * Returns the value of a JSON document (RFC 8259), or why it has none. `JSON.parse` would round 64-bit integers, sort keys that
 * are numbers, and not end early. Of members with the same name, the last one counts. Throws `BudgetExhausted`.
 *
 * @param name what messages call the text
 */
export const readJson = (text: string, budget: Budget, name = 'the body'): CelValue | ExpressionError => {
  budget.chargeText(text.length);
  const reader = new JsonReader(text, budget);
  try {
    return reader.document();
  } catch (error) {
    if (error instanceof Fault) return new ExpressionError(`${name} ${error.message}`);
    throw error;
  }
};

class Fault extends Error {}

class JsonReader {
  readonly #text: string;
  readonly #budget: Budget;
  #at = 0;
  /** How the number that was read last was written, if its text is to be kept. */
  #written: string | undefined;
  #nodes = 0;

  constructor(text: string, budget: Budget) {
    this.#text = text;
    this.#budget = budget;
  }

  document(): CelValue {
    const value = this.#value(0);
    this.#skip(SPACE);
    if (this.#at < this.#text.length) throw new Fault(NOT_JSON);
    return value;
  }

  /** Returns the match of a sticky expression at the current position, and moves to its end. */
  #skip(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match !== null) this.#at = pattern.lastIndex;
    return match;
  }

  /** Moves past the character if it is next, after whitespace. */
  #take(character: string): boolean {
    this.#skip(SPACE);
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #demand(character: string): void {
    if (!this.#take(character)) throw new Fault(NOT_JSON);
  }

  #value(depth: number): CelValue {
    if (++this.#nodes > LIMITS.expressionJsonNodesMax) throw new Fault(TOO_MANY);
    if (depth > LIMITS.expressionJsonNestingMax) throw new Fault(TOO_DEEP);
    this.#budget.charge(VALUE_UNITS);
    if (this.#take('{')) return this.#object(depth + 1);
    if (this.#take('[')) return this.#array(depth + 1);
    if (this.#text[this.#at] === '"') return this.#string();
    const word = this.#skip(WORD);
    if (word !== null) return ownMember(WORDS, word[0]) ?? null;
    const number = this.#skip(NUMBER);
    if (number === null) throw new Fault(NOT_JSON);
    const value = jsonNumber(number);
    if (typeof value === 'number' ? String(value) !== number[0] : number[0] === '-0') [this.#written] = number;
    return value;
  }

  #object(depth: number): CelValue {
    const members = new Map<string, CelValue>();
    let texts: NumberTexts | undefined;
    if (this.#take('}')) return celMap(members);
    do {
      this.#budget.charge(MEMBER_UNITS);
      this.#skip(SPACE);
      const name = this.#string();
      this.#demand(':');
      members.set(name, this.#value(depth));
      texts?.delete(name);
      if (this.#written !== undefined) texts = withNumberText(texts, name, this.#written);
      this.#written = undefined;
    } while (this.#take(','));
    this.#demand('}');
    return keepNumberTexts(celMap(members), texts);
  }

  #array(depth: number): CelValue {
    const items: CelValue[] = [];
    let texts: NumberTexts | undefined;
    if (this.#take(']')) return celList(items);
    do {
      const value = this.#value(depth);
      if (this.#written !== undefined) texts = withNumberText(texts, items.length, this.#written);
      this.#written = undefined;
      items.push(value);
    } while (this.#take(','));
    this.#demand(']');
    return keepNumberTexts(celList(items), texts);
  }

  #string(): string {
    const plain = this.#skip(PLAIN_STRING);
    if (plain !== null) return plain[1] ?? '';
    const escaped = this.#skip(ESCAPED_STRING);
    if (escaped === null) throw new Fault(NOT_JSON);
    this.#budget.charge(ESCAPED_UNITS + escaped[0].length / ESCAPED_CHARACTERS_PER_UNIT);
    return JSON.parse(escaped[0]) as string;
  }
}

const jsonNumber = ([text, fraction, exponent]: RegExpExecArray): CelValue => {
  if (fraction !== undefined || exponent !== undefined || text.length > INTEGER_LENGTH_MAX) return Number(text);
  const integer = BigInt(text);
  if (BigInt.asIntN(64, integer) === integer) return integer;
  return BigInt.asUintN(64, integer) === integer ? celUint(integer) : Number(text);
};
