import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HeaderPair } from '@standin/contract';
import { bodyAsBuffer, type EntryPreview, type TextStart } from '../log-entry.ts';
import type { Condition, ContainsField, Pattern, PatternField, Term } from './filter.ts';
import { formatFilter } from './format-filter.ts';
import type { ParseResult } from './parse-filter.ts';
import { filterLatin1Bytes, filterUtf8Bytes, lowerAscii } from './text-bytes.ts';

type ParsedSearch = Extract<ParseResult, { kind: 'parsed' }>;

/** A term of a search, with a minus if it is negated, and its range in the text of the search. */
export interface PlacedTerm {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** How a request relates to a search. Terms that do not affect whether it matches are missing, such as those of another alternative. */
export interface SearchMatch {
  readonly met: readonly PlacedTerm[];
  readonly unmet: readonly PlacedTerm[];
  /** Terms that depend on a part of a body that the preview does not have. */
  readonly unknown: readonly PlacedTerm[];
}

export interface NearMiss extends SearchMatch {
  readonly request: EntryPreview;
}

/**
 * Resolves with the requests that fail the fewest terms, at most `max` of them. Requests that match are left out. Among equal ones, the
 * order is kept. Other tasks run in between, because reading the bodies of a request can take some milliseconds.
 */
export const nearMisses = async (
  search: ParsedSearch,
  requests: readonly EntryPreview[],
  max: number,
): Promise<readonly NearMiss[]> => {
  const misses: NearMiss[] = [];
  for (const request of requests) {
    await nextTurn();
    const match = matchSearch(search, request);
    if (match.unmet.length + match.unknown.length > 0) misses.push({ request, ...match });
  }
  return misses.sort((a, b) => a.unmet.length - b.unmet.length || b.met.length - a.met.length).slice(0, max);
};

/**
 * Returns which terms of a search a request meets. ClickHouse decides which requests match (`compileFilter` in `logstore`). This
 * explains why one does not, by the same rules.
 */
export const matchSearch = ({ filter, terms }: ParsedSearch, request: EntryPreview): SearchMatch => {
  if (filter.kind === 'everything') return NOTHING;
  const facts = searchedBytes(request);
  let place = 0;
  const visit = (condition: Condition, isNegated: boolean): Result => {
    switch (condition.kind) {
      case 'and':
      case 'or':
        return join(
          condition.conditions.map((part) => visit(part, isNegated)),
          // Not (a and b) is the same as (not a) or (not b).
          (condition.kind === 'and') !== isNegated,
        );
      case 'not':
        return visit(condition.condition, !isNegated);
      default: {
        const matches = matchesTerm(condition, facts);
        const verdict = matches === undefined ? 'unknown' : matches === isNegated ? 'unmet' : 'met';
        const text = formatFilter(isNegated ? { kind: 'not', condition } : condition);
        const { from, to } = terms[place++] ?? { from: 0, to: 0 };
        return { verdict, match: { ...NOTHING, [verdict]: [{ text, from, to }] } };
      }
    }
  };
  return visit(filter, false).match;
};

const NOTHING: SearchMatch = { met: [], unmet: [], unknown: [] };

interface Result {
  readonly verdict: keyof SearchMatch;
  readonly match: SearchMatch;
}

/** Joins the results of parts, of which all must be met, or one. Leaves out alternatives that do not decide the result. */
const join = (results: readonly Result[], isAll: boolean): Result => {
  const some = (wanted: keyof SearchMatch): boolean => results.some(({ verdict }) => verdict === wanted);
  const [first, last] = isAll ? (['unmet', 'met'] as const) : (['met', 'unmet'] as const);
  const verdict = some(first) ? first : some('unknown') ? 'unknown' : last;
  const deciding = isAll ? results : results.filter((result) => result.verdict === verdict);
  const all = (list: keyof SearchMatch): PlacedTerm[] => deciding.flatMap(({ match }) => match[list]);
  return { verdict, match: { met: all('met'), unmet: all('unmet'), unknown: all('unknown') } };
};

/** The values that a search reads, with one character per byte. `undefined` stands for bytes that are not known. */
interface SearchedBytes {
  readonly request: EntryPreview;
  readonly text: Readonly<Record<ContainsField, Partial<SearchedText>>>;
  /** The path, the query and all headers. */
  readonly head: string;
}

/** In lower case. */
interface SearchedText {
  readonly bytes: string;
  readonly isCut: boolean;
}

const searchedBytes = (request: EntryPreview): SearchedBytes => {
  const { entry } = request;
  const lines = (headers: readonly HeaderPair[]): string => headers.map((pair) => pair.join(': ')).join('\n');
  const head = `${entry.path}?${entry.query}\n${lines(entry.request.headers)}\n${lines(entry.response.headers)}`;
  return {
    request,
    text: {
      query: { bytes: lowerBytes(Buffer.from(entry.query, 'latin1')), isCut: false },
      body: searchedText(entry.request, request.requestText, request.requestBodyBytes - request.requestBodyBytesShown),
      'resp.body': searchedText(
        entry.response,
        request.responseText,
        request.responseBodyBytes - request.responseBodyBytesShown,
      ),
    },
    head: lowerBytes(Buffer.from(head, 'latin1')),
  };
};

type Message = EntryPreview['entry']['request' | 'response'];

/** Returns what a search in a body reads: its text without content codings, or the body itself. */
const searchedText = (message: Message, text: TextStart | undefined, bytesMissing: number): Partial<SearchedText> => {
  if (text !== undefined) return { bytes: lowerBytes(Buffer.from(text.text)), isCut: text.isCut };
  // A text that is not UTF-8 is missing in a preview.
  const isEncoded = message.headers.some(([name]) => name.toLowerCase() === 'content-encoding');
  if (isEncoded && message.body !== '') return {};
  return { bytes: lowerBytes(bodyAsBuffer(message)), isCut: bytesMissing > 0 };
};

/** Returns the bytes with ASCII letters in lower case, one character per byte. Changes the buffer. */
const lowerBytes = (bytes: Buffer): string => {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x41 && byte <= 0x5a) bytes[at] = byte + 0x20;
  }
  return bytes.toString('latin1');
};

const utf8 = (text: string): string => latin1(Buffer.from(text));
const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** Returns whether the term matches, or undefined if the preview does not show it. */
const matchesTerm = (term: Term, { request, text, head }: SearchedBytes): boolean | undefined => {
  const { entry } = request;
  switch (term.kind) {
    case 'text': {
      const wanted = meanings([lowerAscii(term.text)], true);
      const bodies = [text.body, text['resp.body']].map((body) => contains(body, wanted.slice(0, 1)));
      if (contains({ bytes: head, isCut: false }, wanted) === true || bodies.includes(true)) return true;
      return bodies.includes(undefined) ? undefined : false;
    }
    case 'contains':
      return contains(text[term.field], meanings([lowerAscii(term.text)], term.field === 'query'));
    case 'matches': {
      const [value, isLatin1] = patternValue(entry, term.field);
      return matchesPattern(value, meanings(term.pattern, isLatin1));
    }
    case 'header': {
      const patterns = meanings(term.pattern, true);
      return entry[term.side].headers.some(
        ([name, value]) => lowerAscii(name) === term.name && matchesPattern(value, patterns),
      );
    }
    case 'method':
      return entry.method === term.method;
    case 'outcome':
      return entry.outcome === term.outcome;
    case 'action':
      return entry.action === term.action;
    case 'credential':
      return entry.credential === term.credential;
    case 'range': {
      const value = numberValue(request, term.field);
      return value >= term.from && value <= term.to;
    }
    case 'compare':
      return compares(numberValue(request, term.field), term);
  }
};

/** Returns the byte strings that a pattern can mean: in UTF-8 first, and in the bytes with these numbers if a column is shown that way. */
const meanings = (pattern: Pattern | readonly [string], isLatin1: boolean): readonly (readonly string[])[] => {
  const inUtf8 = pattern.map((piece) => latin1(filterUtf8Bytes(piece)));
  if (!isLatin1 || pattern.every((piece) => filterLatin1Bytes(piece) === undefined)) return [inUtf8];
  return [inUtf8, pattern.map((piece) => latin1(filterLatin1Bytes(piece) ?? filterUtf8Bytes(piece)))];
};

const contains = (
  { bytes, isCut = true }: Partial<SearchedText>,
  wanted: readonly (readonly string[])[],
): boolean | undefined => {
  if (bytes !== undefined && wanted.some(([text = '']) => bytes.includes(text))) return true;
  return isCut ? undefined : false;
};

const matchesPattern = (value: string, patterns: readonly (readonly string[])[]): boolean =>
  patterns.some((pieces) => matchesPieces(value, pieces));

/** The pieces must occur in this order: the first at the beginning, the last at the end. */
const matchesPieces = (value: string, pieces: readonly string[]): boolean => {
  const [first = '', last] = [pieces[0], pieces.at(-1) ?? ''];
  if (pieces.length === 1) return value === first;
  if (value.length < first.length + last.length || !value.startsWith(first) || !value.endsWith(last)) return false;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = value.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at <= value.length - last.length;
};

/** Returns a value with one character per byte, and whether it is shown that way. */
const patternValue = (entry: EntryPreview['entry'], field: PatternField): readonly [string, boolean] => {
  switch (field) {
    case 'path':
      return [entry.path, true];
    case 'delivery':
      return [entry.deliveryId, true];
    case 'response':
      return [utf8(entry.responseName), false];
    case 'key':
      return [utf8(entry.keyFingerprint), false];
    case 'client':
      return [utf8(entry.clientAddress), false];
    case 'upstream':
      return [utf8(entry.upstreamUrl), false];
    case 'endpoint':
    case 'project':
    case 'namespace':
    case 'account':
    case 'gateway':
    case 'id':
      return [utf8(entry[field]), false];
  }
};

const numberValue = (
  { entry, requestBodyBytes, responseBodyBytes }: EntryPreview,
  field: Extract<Term, { kind: 'compare' }>['field'],
): number => {
  switch (field) {
    case 'status':
      return entry.status;
    case 'dur':
      return Math.round(entry.durationMs * 1_000);
    case 'size':
      return requestBodyBytes + responseBodyBytes;
    case 'req.size':
      return requestBodyBytes;
    case 'resp.size':
      return entry.response.bodyBytes;
  }
};

const compares = (value: number, { field, comparison, value: limit }: Extract<Term, { kind: 'compare' }>): boolean => {
  // A request without a response has the status 0, which no upper limit matches.
  if (field === 'status' && value === 0 && comparison.startsWith('<')) return false;
  switch (comparison) {
    case '=':
      return value === limit;
    case '>':
      return value > limit;
    case '>=':
      return value >= limit;
    case '<':
      return value < limit;
    case '<=':
      return value <= limit;
  }
};
