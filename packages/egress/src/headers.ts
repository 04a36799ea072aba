import type { HeaderChanges, HeaderPair } from '@standin/contract';

/**
 * Headers that apply to one connection only (RFC 9110 section 7.6.1). `proxy-status` (RFC 9209) applies beyond the connection and
 * stays.
 */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Removes the headers that apply to one connection, including those that `Connection` names. The rest keep their order and case.
 */
export const stripHopByHop = (headers: readonly HeaderPair[]): HeaderPair[] => {
  const named = new Set<string>();
  for (const [name, value] of headers) {
    if (name.toLowerCase() !== 'connection') continue;
    for (const token of value.split(',')) named.add(token.trim().toLowerCase());
  }
  return headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !HOP_BY_HOP.has(lower) && !named.has(lower);
  });
};

/** Removes and sets headers. What is set comes last. */
export const changeHeaders = (
  headers: readonly HeaderPair[],
  { set, remove }: HeaderChanges = { set: [], remove: [] },
): readonly HeaderPair[] => {
  if (set.length === 0 && remove.length === 0) return headers;
  const dropped = new Set([...remove, ...set.map(([name]) => name.toLowerCase())]);
  return [...headers.filter(([name]) => !dropped.has(name.toLowerCase())), ...set];
};

/**
 * undici writes `host`, `connection` and `content-length` itself, because the whole body is known. It rejects `expect`, which the
 * gateway has already handled.
 */
const WRITTEN_BY_UNDICI = new Set(['host', 'content-length', 'expect']);

/** Returns the request headers in undici's format: name, value, name, value. */
export const requestHeaders = (headers: readonly HeaderPair[]): string[] =>
  stripHopByHop(headers)
    .filter(([name]) => !WRITTEN_BY_UNDICI.has(name.toLowerCase()))
    .flat();

/** Header or trailer lines in undici's format: name, value, name, value. */
export type RawLines = readonly (Buffer | string)[];

/** Decodes lines as latin1, in wire order and case. */
export const decodeLines = (lines: RawLines): HeaderPair[] => {
  const text = (part: Buffer | string | undefined): string =>
    typeof part === 'string' ? part : (part?.toString('latin1') ?? '');
  const pairs: HeaderPair[] = [];
  for (let index = 0; index < lines.length; index += 2) pairs.push([text(lines[index]), text(lines[index + 1])]);
  return pairs;
};

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// The characters that Node can write (its checkInvalidHeaderChar): field-vchar, space, tab, obs-text.
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Returns whether these lines can be forwarded without changing what the receiver reads. */
export const areValidLines = (lines: readonly HeaderPair[]): boolean =>
  lines.every(([name, value]) => TOKEN.test(name) && FIELD_VALUE.test(value));
