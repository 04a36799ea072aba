import { parseTree, type Node } from 'jsonc-parser';
import { excerpt } from './excerpt.ts';
import type { JsonChange } from './response-diff.ts';

const CHANGES_MAX = 500;
const SHOWN_CHARS_MAX = 240;

interface Document {
  readonly text: string;
  readonly root: Node;
}

/**
 * Returns the text with the tree of its values, or undefined if the text is not JSON (RFC 8259) or is nested too deeply to parse.
 */
const parse = (text: string): Document | undefined => {
  try {
    // Throws an error if the text is not JSON, because the tree parser accepts more than JSON allows.
    JSON.parse(text);
    const root = parseTree(text);
    return root && { text, root };
  } catch {
    return undefined;
  }
};

const literal = ({ text }: Document, { offset, length }: Node): string => text.slice(offset, offset + length);

const inOneLine = (document: Document, node: Node | undefined): string | undefined =>
  node &&
  literal(document, node)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');

const shown = (text: string | undefined, other: string | undefined): string | undefined =>
  text === undefined ? undefined : excerpt(text, other, SHOWN_CHARS_MAX);

const childPath = (path: string, key: string): string =>
  /^[A-Za-z_]\w*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;

/**
 * A member of an object. JSON allows names to repeat. `times` counts the occurrences of the name so far, which makes `id` unique.
 */
interface Member {
  readonly id: string;
  readonly key: string;
  readonly times: number;
  readonly value: Node;
}

const objectMembers = (node: Node): readonly Member[] => {
  const seen = new Map<string, number>();
  return (node.children ?? []).flatMap(({ children: [name, value] = [] }) => {
    if (name === undefined || value === undefined) return [];
    const key = String(name.value);
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    return [{ id: `${times} ${key}`, key, times, value }];
  });
};

const memberPath = (path: string, { key, times }: Member): string =>
  `${childPath(path, key)}${times === 1 ? '' : ` (${times})`}`;

/**
 * Assigns the same number to equal values. Comparing two values of any size then takes as long as comparing two numbers. Strings
 * are compared after decoding, objects regardless of member order, and numbers regardless of their notation, but exactly: parsing would
 * round them.
 */
class ValueNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #ofNodes = new Map<Node, number>();

  of(node: Node): number {
    return this.#ofNodes.get(node) ?? -1;
  }

  /** Numbers all values in a document, starting with the innermost. */
  add(document: Document): void {
    this.#number(document, document.root);
  }

  #number(document: Document, node: Node): number {
    const number = this.contentNumber(this.#content(document, node));
    this.#ofNodes.set(node, number);
    return number;
  }

  contentNumber(content: string): number {
    const number = this.#numbers.get(content) ?? this.#numbers.size;
    this.#numbers.set(content, number);
    return number;
  }

  /** Describes a value, with its inner values replaced by their numbers. */
  #content(document: Document, node: Node): string {
    switch (node.type) {
      case 'object': {
        const members = objectMembers(node).map(({ id, value }) => [
          this.contentNumber(`name ${id}`),
          this.#number(document, value),
        ]);
        return `{${members
          .map((member) => member.join(':'))
          .sort()
          .join()}}`;
      }
      case 'array':
        return `[${(node.children ?? []).map((item) => this.#number(document, item)).join()}]`;
      case 'string':
        return `string ${String(node.value)}`;
      case 'number':
        return `number ${exactNumber(literal(document, node))}`;
      default:
        return `${node.type} ${literal(document, node)}`;
    }
  }
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,15}))?$/;

/** Returns the same text for equal numbers, such as `1.0` and `10e-1`. Those with a very long exponent stay as written. */
const exactNumber = (text: string): string => {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (sign === undefined) return text;
  const digits = withoutZeros(whole + fraction);
  if (digits === '') return '0';
  // How many places the point is after the first digit.
  const leading = (whole + fraction).search(/[1-9]/);
  return `${sign}${digits}e${whole.length - leading + Number(exponent)}`;
};

/** Returns the digits without zeros at both ends. */
const withoutZeros = (digits: string): string => {
  let end = digits.length;
  // A regular expression would take quadratic time on zeros that are not at the end.
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end).replace(/^0+/, '');
};

/** Compares two documents value by value and records where they differ. */
class JsonComparison {
  readonly changes: JsonChange[] = [];
  total = 0;
  readonly #before: Document;
  readonly #after: Document;
  readonly #isIgnored: IsIgnored;
  readonly #numbers = new ValueNumbers();

  constructor(before: Document, after: Document, isIgnored: IsIgnored) {
    this.#before = before;
    this.#after = after;
    this.#isIgnored = isIgnored;
    this.#numbers.add(before);
    this.#numbers.add(after);
  }

  compare(path: string, before: Node, after: Node): void {
    if (this.#isSame(before, after)) return;
    if (before.type === 'object' && after.type === 'object') this.#compareObjects(path, before, after);
    else if (before.type === 'array' && after.type === 'array') this.#compareArrays(path, before, after);
    else this.#note(path, before, after);
  }

  #isSame(before: Node, after: Node): boolean {
    return this.#numbers.of(before) === this.#numbers.of(after);
  }

  #compareObjects(path: string, before: Node, after: Node): void {
    const [old, now] = [objectMembers(before), objectMembers(after)];
    const [oldIds, nowById] = [new Set(old.map(({ id }) => id)), new Map(now.map((member) => [member.id, member]))];
    for (const member of old) {
      const other = nowById.get(member.id);
      if (other !== undefined && this.#isSame(member.value, other.value)) continue;
      const at = memberPath(path, member);
      if (other === undefined) this.#note(at, member.value, undefined);
      else this.compare(at, member.value, other.value);
    }
    for (const member of now) if (!oldIds.has(member.id)) this.#note(memberPath(path, member), undefined, member.value);
  }

  /** Skips identical elements at both ends. An added element is then one change, not one for each element after it. */
  #compareArrays(path: string, before: Node, after: Node): void {
    const [old, now] = [before.children ?? [], after.children ?? []];
    const isSameAt = (a: number, b: number): boolean => {
      const [was, is] = [old[a], now[b]];
      return was !== undefined && is !== undefined && this.#isSame(was, is);
    };
    let start = 0;
    while (isSameAt(start, start)) start += 1;
    let end = 0;
    while (end < Math.min(old.length, now.length) - start && isSameAt(old.length - 1 - end, now.length - 1 - end))
      end += 1;
    const count = Math.max(old.length, now.length) - end;
    for (let index = start; index < count; index += 1) {
      const was = index < old.length - end ? old[index] : undefined;
      const is = index < now.length - end ? now[index] : undefined;
      const at = `${path}[${index}]`;
      if (was !== undefined && is !== undefined) this.compare(at, was, is);
      else this.#note(at, was, is);
    }
  }

  #note(path: string, before: Node | undefined, after: Node | undefined): void {
    if (this.#isIgnored(path, this.#scalars(before, after))) return;
    this.total += 1;
    if (this.changes.length >= CHANGES_MAX) return;
    const [was, is] = [inOneLine(this.#before, before), inOneLine(this.#after, after)];
    this.changes.push({ path, before: shown(was, is), after: shown(is, was) });
  }

  #scalars(before: Node | undefined, after: Node | undefined): ScalarChange | undefined {
    if (before === undefined || before.type !== after?.type || before.children !== undefined) return undefined;
    return { before: literal(this.#before, before), after: literal(this.#after, after) };
  }
}

/** Two strings, numbers or booleans, as written. */
export interface ScalarChange {
  readonly before: string;
  readonly after: string;
}

/**
 * Returns whether a change does not count.
 *
 * @param path such as `$.items[2].price`
 * @param scalars undefined unless both values have the same type, and are neither objects nor arrays
 */
export type IsIgnored = (path: string, scalars: ScalarChange | undefined) => boolean;

export interface JsonDiff {
  /** The first changes, in the order of `before`. */
  readonly changes: readonly JsonChange[];
  readonly total: number;
}

/**
 * Compares two JSON documents by field, in almost linear time. Compares numbers without rounding. Returns undefined if one of them is
 * not JSON or is nested too deeply.
 */
export const diffJson = (before: string, after: string, isIgnored: IsIgnored = () => false): JsonDiff | undefined => {
  const [old, now] = [parse(before), parse(after)];
  if (old === undefined || now === undefined) return undefined;
  try {
    const comparison = new JsonComparison(old, now, isIgnored);
    comparison.compare('$', old.root, now.root);
    return { changes: comparison.changes, total: comparison.total };
  } catch (error) {
    // A deeply nested document can overflow the call stack.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};
