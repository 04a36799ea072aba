import type { HeaderPair } from '@standin/contract';
import { headerValue } from './snippet.ts';

/** The text between two delimiters in a multipart body (RFC 2046 section 5.1). All positions are indexes into the body's text. */
export interface MultipartSection {
  /** The position after the delimiter's line. */
  readonly from: number;
  /** The start of the content. `undefined` if no empty line ends the head. */
  readonly start: number | undefined;
  /** The position before the line ending that belongs to the next delimiter. */
  readonly end: number;
  /** Whether the end of the section was found. `false` if the body is truncated. */
  readonly isWhole: boolean;
}

export interface MultipartSections {
  /** The start of the first delimiter. A preamble may precede it. */
  readonly first: number;
  readonly sections: readonly MultipartSection[];
  /** The position after the last delimiter that was read. */
  readonly last: number;
  /** Whether the closing delimiter was found. An epilogue may follow it. */
  readonly isClosed: boolean;
}

/** One part with a head. */
export interface MultipartItem {
  /** Names as sent, and values without the whitespace around them. */
  readonly headers: readonly HeaderPair[];
  /** From Content-Disposition, if present. */
  readonly name: string | undefined;
  readonly fileName: string | undefined;
  /** The position of the content in the body. */
  readonly start: number;
  readonly end: number;
  /** Whether the end of the part was found. `false` if the body is truncated. */
  readonly isWhole: boolean;
}

/** Longer than the 70 characters that RFC 2046 allows. */
const BOUNDARY_LENGTH_MAX = 200;
/** The maximum number of sections to read in one body. Limits memory, because each section costs a few objects. */
const SECTIONS_MAX = 10_000;
/** The maximum number of parts that a page lists for one body. */
const ITEMS_MAX = 1_000;
const CLOSING = '--';

/** Returns a parameter of a header value, which is either quoted or a token. */
const parameter = (value: string, name: string): string | undefined => {
  const match = new RegExp(`[;\\s]${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, 'i').exec(value);
  return match?.[1]?.replace(/\\(["\\])/g, '$1') ?? match?.[2];
};

/** Returns `undefined` if the type is not multipart. */
export const multipartBoundary = (contentType: string): string | undefined => {
  const boundary = /^\s*multipart\//i.test(contentType) ? parameter(contentType, 'boundary') : undefined;
  return boundary === undefined || boundary.length > BOUNDARY_LENGTH_MAX ? undefined : boundary;
};

/** Returns the start of the first line that is a delimiter, or -1 if there is none. */
const firstDelimiter = (body: string, delimiter: string): number => {
  if (body.startsWith(delimiter)) return 0;
  const lineFeed = body.indexOf(`\n${delimiter}`);
  return lineFeed === -1 ? -1 : lineFeed + 1;
};

/**
 * Returns the sections of a multipart body, which may be truncated, or `undefined` if no line is a delimiter. Line endings are
 * those of the first delimiter's line, either CRLF or LF alone. Runs in linear time for any body.
 */
export const splitMultipart = (body: string, boundary: string): MultipartSections | undefined => {
  const delimiter = `--${boundary}`;
  const first = firstDelimiter(body, delimiter);
  if (first === -1) return undefined;
  const lineFeed = body.indexOf('\n', first);
  const lineEnd = body[lineFeed - 1] === '\r' || lineFeed === -1 ? '\r\n' : '\n';
  const sections: MultipartSection[] = [];
  let last = first + delimiter.length;
  while (!body.startsWith(CLOSING, last) && sections.length < SECTIONS_MAX) {
    const lineEndAt = body.indexOf(lineEnd, last);
    if (lineEndAt === -1) break;
    const from = lineEndAt + lineEnd.length;
    const next = body.indexOf(lineEnd + delimiter, lineEndAt);
    const end = next === -1 ? body.length : Math.max(next, from);
    const headEnd = endOfHead(body.slice(from, end + lineEnd.length), lineEnd);
    const start = headEnd === undefined ? undefined : Math.min(end, from + headEnd);
    sections.push({ from, start, end, isWhole: next !== -1 });
    if (next === -1) return { first, sections, last, isClosed: false };
    last = next + lineEnd.length + delimiter.length;
  }
  return { first, sections, last, isClosed: body.startsWith(CLOSING, last) };
};

/**
 * Returns the length of the head at the start of a section, or `undefined` if no empty line ends the head. Receives only the
 * section, because searching the rest of the body for each section would take quadratic time.
 */
const endOfHead = (section: string, lineEnd: string): number | undefined => {
  // A part without headers begins with the empty line.
  if (section.startsWith(lineEnd)) return lineEnd.length;
  const headEnd = section.indexOf(lineEnd + lineEnd);
  return headEnd === -1 ? undefined : headEnd + 2 * lineEnd.length;
};

/** Returns the headers of a part. A line that begins with whitespace continues the one before (RFC 5322 section 2.2.3). */
export const partHeaders = (head: string): readonly HeaderPair[] =>
  head
    .replace(/\r?\n(?=[ \t])/g, '')
    .split('\n')
    .filter((line) => line.includes(':'))
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const);

export const partNames = (headers: readonly HeaderPair[]): Pick<MultipartItem, 'name' | 'fileName'> => {
  const disposition = headerValue(headers, 'content-disposition') ?? '';
  return { name: parameter(disposition, 'name'), fileName: parameter(disposition, 'filename') };
};

/** Returns the first parts of a body, which may be truncated. Leaves out the text around parts, and parts without a head. */
export const parseMultipart = (body: string, boundary: string): readonly MultipartItem[] => {
  const items: MultipartItem[] = [];
  for (const { from, start, end, isWhole } of splitMultipart(body, boundary)?.sections ?? []) {
    if (start === undefined) continue;
    if (items.length === ITEMS_MAX) break;
    const headers = partHeaders(body.slice(from, start));
    items.push({ headers, ...partNames(headers), start, end, isWhole });
  }
  return items;
};
