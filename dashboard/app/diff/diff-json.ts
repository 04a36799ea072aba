import { parseTree, type Node } from 'jsonc-parser';
import type { JsonChange } from './answer-diff.ts';

const CHANGES_MAX = 500;
const SHOWN_CHARS_MAX = 240;

interface Document {
  readonly text: string;
  readonly root: Node;
}

/** The offsets of all values. `undefined`: not JSON (RFC 8259), or nested so deep that nobody could read what differs. */
const parse = (text: string): Document | undefined => {
  try {
    // The tree's parser forgives what JSON does not allow.
    JSON.parse(text);
    const root = parseTree(text);
    return root && { text, root };
  } catch {
    return undefined;
  }
};

const literal = ({ text }: Document, { offset, length }: Node): string => text.slice(offset, offset + length);

const shown = (document: Document, node: Node | undefined): string | undefined => {
  if (node === undefined) return undefined;
  const text = literal(document, node).replaceAll(/\s*\n\s*/g, ' ');
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text;
};

const childPath = (path: string, key: string): string =>
  /^[A-Za-z_]\w*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;

interface Member {
  readonly path: string;
  readonly value: Node;
}

/** Members by name; one that repeats, which JSON allows, has its number behind it. */
const membersOf = (node: Node, path: string): Map<string, Member> => {
  const members = new Map<string, Member>();
  const seen = new Map<string, number>();
  for (const { children: [name, value] = [] } of node.children ?? []) {
    if (name === undefined || value === undefined) continue;
    const key = String(name.value);
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    const suffix = times === 1 ? '' : ` (${times})`;
    members.set(`${times} ${key}`, { path: `${childPath(path, key)}${suffix}`, value });
  }
  return members;
};

/** Compares two documents and notes where they differ, value by value. */
class JsonComparison {
  readonly changes: JsonChange[] = [];
  total = 0;
  readonly #before: Document;
  readonly #after: Document;

  constructor(before: Document, after: Document) {
    this.#before = before;
    this.#after = after;
  }

  compare(path: string, before: Node, after: Node): void {
    if (this.#isSame(before, after)) return;
    if (before.type === 'object' && after.type === 'object') this.#compareObjects(path, before, after);
    else if (before.type === 'array' && after.type === 'array') this.#compareArrays(path, before, after);
    else this.#note(path, before, after);
  }

  /** By value: strings as what their escapes mean, numbers as they are written, for 1.0 and a long integer lose by being read. */
  #isSame(before: Node, after: Node): boolean {
    if (before.type !== after.type) return false;
    if (before.type === 'string') return before.value === after.value;
    if (before.type === 'object') {
      const [old, now] = [membersOf(before, ''), membersOf(after, '')];
      return (
        old.size === now.size &&
        [...old].every(([id, { value }]) => {
          const other = now.get(id);
          return other !== undefined && this.#isSame(value, other.value);
        })
      );
    }
    if (before.type === 'array') {
      const [old, now] = [before.children ?? [], after.children ?? []];
      return (
        old.length === now.length &&
        old.every((value, index) => {
          const other = now[index];
          return other !== undefined && this.#isSame(value, other);
        })
      );
    }
    return literal(this.#before, before) === literal(this.#after, after);
  }

  #compareObjects(path: string, before: Node, after: Node): void {
    const [old, now] = [membersOf(before, path), membersOf(after, path)];
    for (const [id, { path: at, value }] of old) {
      const other = now.get(id);
      if (other === undefined) this.#note(at, value, undefined);
      else this.compare(at, value, other.value);
    }
    for (const [id, { path: at, value }] of now) if (!old.has(id)) this.#note(at, undefined, value);
  }

  /** What is the same at both ends is left aside, so that one element more is one change and not one for each behind it. */
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
    this.total += 1;
    if (this.changes.length >= CHANGES_MAX) return;
    this.changes.push({ path, before: shown(this.#before, before), after: shown(this.#after, after) });
  }
}

export interface JsonDiff {
  /** The first of them, in the order of `before`. */
  readonly changes: readonly JsonChange[];
  readonly total: number;
}

/**
 * What differs between two JSON documents, by field. Nothing is rounded: numbers are compared as they are written. `undefined` where
 * one of them is no JSON document, or is nested too deep.
 */
export const diffJson = (before: string, after: string): JsonDiff | undefined => {
  const [old, now] = [parse(before), parse(after)];
  if (old === undefined || now === undefined) return undefined;
  const comparison = new JsonComparison(old, now);
  try {
    comparison.compare('$', old.root, now.root);
  } catch (error) {
    // The call stack: documents decide how deep they are nested.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  return { changes: comparison.changes, total: comparison.total };
};
