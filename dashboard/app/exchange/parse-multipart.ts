import type { HeaderPair } from '@standin/contract';

/** One part of a multipart body (RFC 2046 section 5.1). */
export interface MultipartItem {
  /** latin1, as sent. */
  readonly headers: readonly HeaderPair[];
  /** latin1; of Content-Disposition, where it has them. */
  readonly name: string | undefined;
  readonly fileName: string | undefined;
  /** Where its content is in the body, in bytes. */
  readonly start: number;
  readonly end: number;
  /** Its end is there; not so where the body breaks off. */
  readonly isWhole: boolean;
}

/** More are of no use to anybody who reads them. */
const ITEMS_MAX = 1_000;
const CRLF = '\r\n';

/** A parameter of a header's value: in quotes, or a token. */
const parameter = (value: string, name: string): string | undefined => {
  const match = new RegExp(`;\\s*${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, 'i').exec(value);
  return match?.[1]?.replace(/\\(["\\])/g, '$1') ?? match?.[2];
};

export const boundaryOf = (contentType: string): string | undefined =>
  /^\s*multipart\//i.test(contentType) ? parameter(contentType, 'boundary') : undefined;

const parseHeaders = (text: string): readonly HeaderPair[] =>
  text
    .split(CRLF)
    .filter((line) => line.includes(':'))
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const);

const toItem = (body: string, from: number, to: number, isWhole: boolean): MultipartItem | undefined => {
  // A part without headers begins with the empty line.
  const headEnd = body.startsWith(CRLF, from) ? from : body.indexOf(CRLF + CRLF, from);
  if (headEnd === -1 || headEnd > to) return undefined;
  const headers = parseHeaders(body.slice(from, headEnd));
  const disposition = headers.find(([name]) => name.toLowerCase() === 'content-disposition')?.[1] ?? '';
  const start = Math.min(to, headEnd + (headEnd === from ? CRLF.length : 2 * CRLF.length));
  return {
    headers,
    name: parameter(disposition, 'name'),
    fileName: parameter(disposition, 'filename'),
    start,
    end: to,
    isWhole,
  };
};

/** The parts of a body, which may break off; latin1, one byte per character. What is around them is left out. */
export const parseMultipart = (body: string, boundary: string): readonly MultipartItem[] => {
  const delimiter = `--${boundary}`;
  const items: MultipartItem[] = [];
  let at = body.startsWith(delimiter) ? 0 : body.indexOf(CRLF + delimiter) + CRLF.length;
  if (at < CRLF.length && at !== 0) return [];
  while (items.length < ITEMS_MAX) {
    const lineEnd = body.indexOf(CRLF, at + delimiter.length);
    // Two dashes behind the last one.
    if (lineEnd === -1 || body.startsWith('--', at + delimiter.length)) break;
    const next = body.indexOf(CRLF + delimiter, lineEnd);
    const item = toItem(
      body,
      lineEnd + CRLF.length,
      next === -1 ? body.length : Math.max(next, lineEnd + CRLF.length),
      next !== -1,
    );
    if (item !== undefined) items.push(item);
    if (next === -1) break;
    at = next + CRLF.length;
  }
  return items;
};
