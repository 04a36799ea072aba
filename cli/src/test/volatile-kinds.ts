import { parseInstant } from '@standin/contract';
import type { ScalarChange } from '@standin/exchange/diff';

/** Why two values are expected to differ: each response has a new one. */
export const VOLATILE_KINDS = { uuid: 'UUIDs', time: 'times', header: 'made for each response' } as const;
export type VolatileKind = keyof typeof VOLATILE_KINDS;

/** Headers whose values servers make for each response or version of it. */
const HEADERS =
  /^(?:etag|last-modified|expires|server-timing|traceparent|tracestate|cf-ray|x-runtime|x-response-time|x-timer|x-served-by|(?:x-)?(?:[a-z]+-)?(?:request|correlation|trace|transaction|amzn-trace)-?id)$/;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** As in `date`, and in JSON RFC 3339, for which other separators and no offset are common. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d/;

/** Times of epochs are within this number of years of the request. */
const EPOCH_YEARS = 5;
const YEAR_SECONDS = 31_556_952;

/** Returns the kind of a header's value that differs. Undefined if it may not differ. */
export const headerKind = (name: string, before: string, after: string): VolatileKind | undefined =>
  HEADERS.test(name.toLowerCase()) ? 'header' : textKind(before, after);

/**
 * Returns the kind of two values of a JSON document, as written. Undefined if they are of no kind, or of different ones.
 *
 * @param receivedAtUs when the request was received
 */
export const valueKind = ({ before, after }: ScalarChange, receivedAtUs: number): VolatileKind | undefined => {
  if (before.startsWith('"')) return textKind(before.slice(1, -1), after.slice(1, -1));
  const [was, is] = [before, after].map((text) => epochUnit(Number(text), receivedAtUs));
  return was !== undefined && was === is ? 'time' : undefined;
};

const textKind = (before: string, after: string): VolatileKind | undefined => {
  const isBoth = (check: (text: string) => boolean): boolean => check(before) && check(after);
  if (isBoth((text) => UUID.test(text))) return 'uuid';
  return isBoth((text) => HTTP_DATE.test(text)) || isBoth(isTime) ? 'time' : undefined;
};

const isTime = (text: string): boolean =>
  text.length < 50 && TIME.test(text) && parseInstant(text.replace(' ', 'T')) !== undefined;

/** Returns how many of its units are a second, if the number is a time near that of the request. */
const epochUnit = (value: number, receivedAtUs: number): number | undefined =>
  [1, 1e3, 1e6, 1e9].find(
    (unit) => Math.abs(value / unit - receivedAtUs / 1e6) < EPOCH_YEARS * YEAR_SECONDS && receivedAtUs > 0,
  );
