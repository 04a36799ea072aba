import type { HeaderPair } from '@standin/contract';

/** The text between two delimiters of a multipart body (RFC 2046 section 5.1). All positions are indexes of the body's text. */
export interface MultipartSection {
  /** After the line of its delimiter. */
  readonly from: number;
  /** The start of its content. `undefined` if no empty line ends its head. */
  readonly start: number | undefined;
  /** Before the line end that belongs to the next delimiter. */
  readonly end: number;
  /** The end of the section was found. `false` if the body breaks off. */
  readonly isWhole: boolean;
}

export interface MultipartSections {
  /** The start of the first delimiter. A preamble may precede it. */
  readonly first: number;
  readonly sections: readonly MultipartSection[];
  /** After the last delimiter that was read. */
  readonly last: number;
  /** The closing delimiter was found. An epilogue may follow it. */
  readonly isClosed: boolean;
}

/** One part with a head. */
export interface MultipartItem {
  /** As sent. */
  readonly headers: readonly HeaderPair[];
  /** From Content-Disposition, if present. */
  readonly name: string | undefined;
  readonly fileName: string | undefined;
  /** The position of its content in the body. */
  readonly start: number;
  readonly end: number;
  /** The end of the part was found. `false` if the body breaks off. */
  readonly isWhole: boolean;
}

/** RFC 2046 allows 70. */
const BOUNDARY_LENGTH_MAX = 200;
/** The maximum of sections that are read in one body. A page lists no more, and each costs some objects. */
const SECTIONS_MAX = 10_000;
/** The maximum of parts that a page lists for one body. */
const ITEMS_MAX = 1_000;
const CLOSING = '--';

/** A parameter of a header's value: quoted or a token. */
const parameter = (value: string, name: string): string | undefined => {
  const match = new RegExp(`[;\\s]${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, 'i').exec(value);
  return match?.[1]?.replace(/\\(["\\])/g, '$1') ?? match?.[2];
};

/** The boundary in a Content-Type. `undefined` if the type is not multipart. */
export const boundaryOf = (contentType: string): string | undefined => {
  const boundary = /^\s*multipart\//i.test(contentType) ? parameter(contentType, 'boundary') : undefined;
  return boundary === undefined || boundary.length > BOUNDARY_LENGTH_MAX ? undefined : boundary;
};

/** The start of the first line that is a delimiter. -1: there is none. */
const firstDelimiter = (body: string, delimiter: string): number => {
  if (body.startsWith(delimiter)) return 0;
  const lineFeed = body.indexOf(`\n${delimiter}`);
  return lineFeed === -1 ? -1 : lineFeed + 1;
};

/**
 * The sections of a multipart body, which may be truncated. Line ends are those of the first delimiter's line: CRLF, or LF alone.
 * Each character is read a bounded number of times for any body. `undefined` if no line is a delimiter.
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

/** Takes only the section, because a search through the rest of the body for each section would take quadratic time. */
const endOfHead = (section: string, lineEnd: string): number | undefined => {
  // A part without headers begins with the empty line.
  if (section.startsWith(lineEnd)) return lineEnd.length;
  const headEnd = section.indexOf(lineEnd + lineEnd);
  return headEnd === -1 ? undefined : headEnd + 2 * lineEnd.length;
};

/** The headers of a part's head. */
export const partHeaders = (head: string): readonly HeaderPair[] =>
  head
    .split('\n')
    .filter((line) => line.includes(':'))
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const);

/** `name` and `filename` of a part's Content-Disposition. */
export const partNames = (headers: readonly HeaderPair[]): Pick<MultipartItem, 'name' | 'fileName'> => {
  const disposition = headers.find(([name]) => name.toLowerCase() === 'content-disposition')?.[1] ?? '';
  return { name: parameter(disposition, 'name'), fileName: parameter(disposition, 'filename') };
};

/** The first parts of a body, which may break off. Leaves out the text around parts, and parts without a head. */
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
