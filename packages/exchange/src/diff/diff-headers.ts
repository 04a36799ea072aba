import type { HeaderPair } from '@standin/contract';
import type { HeaderChange } from './response-diff.ts';

/**
 * Headers whose differences do not count as a different response. They depend on the time or the connection, or, like
 * `content-length`, on the body, which is compared separately.
 */
const PASSING: ReadonlySet<string> = new Set([
  'age',
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
]);

interface Values {
  readonly name: string;
  readonly values: string[];
}

const byName = (headers: readonly HeaderPair[]): Map<string, Values> => {
  const found = new Map<string, Values>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const known = found.get(key);
    if (known === undefined) found.set(key, { name, values: [value] });
    else known.values.push(value);
  }
  return found;
};

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);

/**
 * Returns the headers that differ, in the order of `after`, followed by the removed ones. Ignores the case of names and the order
 * of lines with different names, but not the order of lines with the same name, which is significant (RFC 9110 section 5.3).
 */
export const diffHeaders = (before: readonly HeaderPair[], after: readonly HeaderPair[]): HeaderChange[] => {
  const [old, now] = [byName(before), byName(after)];
  return [...new Set([...now.keys(), ...old.keys()])].flatMap((key) => {
    const [was, is] = [old.get(key), now.get(key)];
    if (isSameList(was?.values ?? [], is?.values ?? [])) return [];
    const name = is?.name ?? was?.name ?? key;
    return [{ name, before: was?.values ?? [], after: is?.values ?? [], isPassing: PASSING.has(key) }];
  });
};
