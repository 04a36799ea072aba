/** A JSON value and its position in the text: [start, end). */
export type JsonNode =
  | { readonly kind: 'object'; readonly start: number; readonly end: number; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly start: number; readonly end: number; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly start: number; readonly end: number; readonly text: string }
  | { readonly kind: 'scalar'; readonly start: number; readonly end: number }
  /**
   * A string without its closing quote, or a number or literal that may continue after the end of a prefix. Its value is unknown.
   */
  | { readonly kind: 'cut'; readonly start: number; readonly end: number };

interface JsonMember {
  readonly key: string;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly value: JsonNode;
}

/** A deeper document counts as unreadable, so that recursive code cannot overflow the stack. */
const DEPTH_MAX = 200;
const WHITESPACE = /[\s\uFEFF]*/y;
const SCALAR = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

class Unreadable extends Error {}

class Reader {
  readonly #text: string;
  readonly #isPrefix: boolean;
  #at = 0;

  constructor(text: string, isPrefix: boolean) {
    this.#text = text;
    this.#isPrefix = isPrefix;
  }

  documents(): JsonNode[] {
    const found: JsonNode[] = [];
    this.#skip();
    while (this.#at < this.#text.length) {
      found.push(this.#value(0));
      this.#skip();
    }
    return found;
  }

  #isOver(): boolean {
    return this.#isPrefix && this.#at >= this.#text.length;
  }

  #skip(): void {
    WHITESPACE.lastIndex = this.#at;
    WHITESPACE.test(this.#text);
    this.#at = WHITESPACE.lastIndex;
  }

  #takes(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #value(depth: number): JsonNode {
    if (depth > DEPTH_MAX) throw new Unreadable();
    const char = this.#text[this.#at];
    if (char === '{') return this.#object(depth);
    if (char === '[') return this.#array(depth);
    if (char === '"') return this.#string();
    const start = this.#at;
    SCALAR.lastIndex = start;
    if (SCALAR.test(this.#text)) this.#at = SCALAR.lastIndex;
    else if (!this.#isPrefix || !/^[-a-z]{0,5}$/.test(this.#text.slice(start))) throw new Unreadable();
    else this.#at = this.#text.length;
    return { kind: this.#isOver() ? 'cut' : 'scalar', start, end: this.#at };
  }

  #object(depth: number): JsonNode {
    const start = this.#at;
    const members: JsonMember[] = [];
    this.#at += 1;
    this.#skip();
    while (!this.#isOver() && !this.#takes('}')) {
      if (members.length > 0) {
        if (!this.#takes(',')) throw new Unreadable();
        this.#skip();
        if (this.#isOver()) break;
      }
      if (this.#text[this.#at] !== '"') throw new Unreadable();
      const name = this.#string();
      this.#skip();
      if (name.kind === 'cut') {
        members.push({ key: '', keyStart: name.start, keyEnd: name.start, value: name });
        break;
      }
      if (this.#isOver()) break;
      if (!this.#takes(':')) throw new Unreadable();
      this.#skip();
      if (this.#isOver()) break;
      members.push({ key: name.text, keyStart: name.start, keyEnd: name.end, value: this.#value(depth + 1) });
      this.#skip();
    }
    return { kind: 'object', start, end: this.#at, members };
  }

  #array(depth: number): JsonNode {
    const start = this.#at;
    const items: JsonNode[] = [];
    this.#at += 1;
    this.#skip();
    while (!this.#isOver() && !this.#takes(']')) {
      if (items.length > 0) {
        if (!this.#takes(',')) throw new Unreadable();
        this.#skip();
        if (this.#isOver()) break;
      }
      items.push(this.#value(depth + 1));
      this.#skip();
    }
    return { kind: 'array', start, end: this.#at, items };
  }

  #string(): Extract<JsonNode, { kind: 'string' | 'cut' }> {
    const text = this.#text;
    const start = this.#at;
    let at = start + 1;
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    if (at >= text.length) {
      if (!this.#isPrefix) throw new Unreadable();
      this.#at = text.length;
      return { kind: 'cut', start, end: text.length };
    }
    this.#at = at + 1;
    return { kind: 'string', start, end: this.#at, text: decode(text.slice(start, this.#at)) };
  }
}

const decode = (literal: string): string => {
  try {
    return String(JSON.parse(literal));
  } catch (error) {
    throw new Unreadable('not a string', { cause: error });
  }
};

/**
 * Returns the JSON documents in a string, one after the other (NDJSON), with their positions. Returns `undefined` if any part is
 * not JSON.
 *
 * @param isPrefix whether the text was cut, in which case everything that is still open at the end of the text counts as closed
 */
export const parseJsonTree = (text: string, isPrefix = false): readonly JsonNode[] | undefined => {
  try {
    return new Reader(text, isPrefix).documents();
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
};
