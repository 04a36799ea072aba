import {
  multipartBoundary,
  partHeaders,
  partNames,
  splitMultipart,
  type MultipartSection,
} from '../formats/multipart.ts';
import { headerValue } from '../formats/snippet.ts';
import type { Redactor } from './redactor.ts';

export interface MultipartOptions {
  /** The Content-Type, including the boundary. */
  readonly type: string;
  readonly isPrefix: boolean;
  /** Redacts the text of a part according to the part's own type. Returns undefined if the part cannot be read. */
  readonly redactPart: (text: string, type: string, isPrefix: boolean) => string | undefined;
}

const WITHHELD = '[not shown: it cannot be searched for secrets]';

/**
 * Hides parts with names that the rules hide, and redacts the other parts by their types, in `multipart/form-data` and similar
 * types. Returns `undefined` if the text is not multipart, has a preamble, or ends too early.
 */
export const redactMultipart = (redactor: Redactor, text: string, options: MultipartOptions): string | undefined => {
  const boundary = multipartBoundary(options.type);
  const body = boundary === undefined ? undefined : splitMultipart(text, boundary);
  if (boundary === undefined || body === undefined) return undefined;
  const { first, sections, last, isClosed } = body;
  if (text.slice(0, first).trim() !== '' || (!isClosed && !options.isPrefix)) return undefined;
  const delimiter = `--${boundary}`;
  // Text after a delimiter on the same line has no name, and neither does an epilogue. Both are left out.
  const shown = sections.map((section) => {
    const lineEnd = text[section.from - 2] === '\r' ? '\r\n' : '\n';
    const isPrefix = options.isPrefix && !section.isWhole;
    const part = redactPart(redactor, text, section, { ...options, isPrefix });
    return `${delimiter}${lineEnd}${part}${section.isWhole ? lineEnd : ''}`;
  });
  return `${shown.join('')}${sections.at(-1)?.isWhole === false ? '' : text.slice(last - delimiter.length, last)}${isClosed ? '--' : ''}`;
};

const redactPart = (
  redactor: Redactor,
  text: string,
  { from, start, end }: MultipartSection,
  { isPrefix, redactPart: byType }: MultipartOptions,
): string => {
  // A part without a head has no name and no type, so it is unknown whether a rule hides it.
  if (start === undefined) return WITHHELD;
  const head = text.slice(from, start);
  const body = text.slice(start, end);
  const headers = partHeaders(head);
  const { name = '' } = partNames(headers);
  const type = headerValue(headers, 'content-type') ?? 'text/plain';
  const encoding = headerValue(headers, 'content-transfer-encoding') ?? 'binary';
  const shownHead = redactor.text(head, 'utf8');
  if (body !== '' && redactor.hidesField(name)) return `${shownHead}${redactor.hide('field', name, body, 'utf8')}`;
  const shown = /^(?:7bit|8bit|binary)$/i.test(encoding) ? byType(body, type, isPrefix) : undefined;
  return `${shownHead}${shown ?? WITHHELD}`;
};
