import type { HeaderPair } from '@standin/contract';
import type { BodyEncoding, LogEntry } from '../log-entry.ts';
import { redactMultipart, type MultipartOptions } from './redact-multipart.ts';
import { compileRedactionRules, type RedactionRules } from './redaction-rules.ts';
import { Redactor, type HiddenField } from './redactor.ts';

/**
 * Why a body is not shown. `binary` means that its bytes are not text and cannot be searched. `unreadable` means that the body
 * cannot be parsed as its declared type (JSON or multipart) or decoded from its declared character set.
 */
export type WithheldReason = 'binary' | 'unreadable';

export interface RedactedEntry {
  /** The entry without anything that the rules hide. A withheld body is empty. */
  readonly entry: LogEntry;
  readonly hidden: readonly HiddenField[];
  readonly request: RedactedBody;
  readonly response: RedactedBody;
}

export interface RedactedBody {
  readonly withheld?: WithheldReason | undefined;
  /** Whether the body was cut because it exceeds `REDACTED_BODY_CHARS_MAX`, or because the capture was truncated. */
  readonly isCut: boolean;
}

/**
 * The number of characters of a body that are searched and shown. This number is enough for readers and limits the cost of one
 * view.
 */
export const REDACTED_BODY_CHARS_MAX = 256 * 1024;

const CHARSETS = /^(?:utf-?8|us-ascii|ascii|iso-8859-1|latin1|windows-1252)$/i;

interface Part {
  readonly headers: readonly HeaderPair[];
  readonly body: string;
  readonly bodyEncoding: BodyEncoding;
}

/** The control characters below U+0020 that occur in text: whitespace, and the start of terminal color codes. */
const TEXT_CONTROLS = '\t\n\v\f\r\u001B';

const hasBinaryCharacters = (text: string): boolean => {
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char < ' ' && !TEXT_CONTROLS.includes(char)) return true;
  }
  return false;
};

const redactBody = (redactor: Redactor, part: Part, isTruncated: boolean): { text: string; state: RedactedBody } => {
  const { headers, body, bodyEncoding } = part;
  if (body === '') return { text: '', state: { isCut: false } };
  if (bodyEncoding === 'base64' || hasBinaryCharacters(body))
    return { text: '', state: { isCut: false, withheld: 'binary' } };
  const isCut = body.length > REDACTED_BODY_CHARS_MAX;
  const start = isCut ? body.slice(0, REDACTED_BODY_CHARS_MAX).replace(/[\uD800-\uDBFF]$/, '') : body;
  const types = headers.filter(([name]) => name.toLowerCase() === 'content-type').map(([, value]) => value);
  const text = redactByType(redactor, start, { type: types.join(', '), isPrefix: isCut || isTruncated, depth: 0 });
  return text === undefined
    ? { text: '', state: { isCut: false, withheld: 'unreadable' } }
    : { text, state: { isCut } };
};

/** The maximum depth of nested multipart bodies. */
const MULTIPART_DEPTH_MAX = 4;

interface ByType {
  readonly type: string;
  readonly isPrefix: boolean;
  /** The number of multipart bodies around this text. */
  readonly depth: number;
}

const redactByType = (redactor: Redactor, text: string, { type, isPrefix, depth }: ByType): string | undefined => {
  const charset = /charset\s*=\s*"?([^\s";,]+)/i.exec(type)?.[1];
  if (charset !== undefined && !CHARSETS.test(charset)) return undefined;
  const isJson = /[/+](?:x-)?(?:nd)?json/i.test(type);
  // Many clients send JSON with a form's content type, because that is their default.
  if (isJson || /^[\s\uFEFF]*[[{]/.test(text)) {
    const document = redactor.json(text, isPrefix);
    if (document !== undefined || isJson) return document;
  }
  if (/multipart\//i.test(type)) {
    if (depth === MULTIPART_DEPTH_MAX) return undefined;
    const redactPart: MultipartOptions['redactPart'] = (part, partType, isPartPrefix) =>
      redactByType(redactor, part, { type: partType, isPrefix: isPartPrefix, depth: depth + 1 });
    return redactMultipart(redactor, text, { type, isPrefix, redactPart });
  }
  return /x-www-form-urlencoded/i.test(type) || /^[^\s=&<>]+=\S*$/.test(text)
    ? redactor.pairs(text, 'utf8')
    : redactor.text(text, 'utf8');
};

const PARAMETER = /;([^;=/]+)=([^;/]*)/g;
/** Matches a segment that looks random rather than chosen by a person: long, with letters and digits. */
const RANDOM = /^(?=[^/]*\d)(?=[^/]*[A-Za-z])[\w.~-]{16,}$/;

/**
 * Redacts the segment after one that names a secret, if the segment looks like a secret, as in `/reset-password/3f9a…`. Also
 * redacts parameters as in `;jsessionid=…`.
 */
const redactPath = (redactor: Redactor, path: string): string => {
  const segments = path.split('/');
  return segments
    .map((segment, index) => {
      const before = segments[index - 1] ?? '';
      if (RANDOM.test(segment) && before !== '' && redactor.hidesField(before))
        return redactor.hide('field', before, segment, 'latin1');
      return redactor.text(
        segment.replaceAll(PARAMETER, (pair, name: string, value: string) =>
          redactor.hidesField(name) && value !== ''
            ? `;${name}=${redactor.hide('field', name, value, 'latin1')}`
            : pair,
        ),
        'latin1',
      );
    })
    .join('/');
};

const redactTarget = (redactor: Redactor, target: string): string => {
  const mark = target.indexOf('?');
  if (mark === -1) return redactPath(redactor, redactor.shapes(target));
  return `${redactPath(redactor, redactor.shapes(target.slice(0, mark)))}?${redactor.pairs(target.slice(mark + 1), 'latin1')}`;
};

const redactHeaders = (redactor: Redactor, headers: readonly HeaderPair[]): readonly HeaderPair[] =>
  headers.map(([name, value]) => [name, redactor.header(name, value)]);

export const redactFields = (redactor: Redactor, entry: LogEntry) => {
  const { request, response } = entry;
  return {
    requestHeaders: redactHeaders(redactor, request.headers),
    requestTrailers: redactHeaders(redactor, request.trailers),
    responseHeaders: redactHeaders(redactor, response.headers),
    responseTrailers: redactHeaders(redactor, response.trailers),
    target: redactTarget(redactor, request.target),
    path: redactPath(redactor, entry.path),
    query: redactor.pairs(entry.query, 'latin1'),
    upstreamUrl: redactTarget(redactor, entry.upstreamUrl),
    upstreamError: redactor.text(entry.upstreamError, 'utf8'),
    templateError: redactor.text(entry.templateError, 'utf8'),
    requestBody: redactBody(redactor, request, false),
    responseBody: redactBody(redactor, response, response.truncated),
  };
};

/** Returns the hidden fields. Removes hidden values from their names. For example, base64 before its `=` looks like a name. */
const sweepNames = ({ fields, values }: Redactor): readonly HiddenField[] => {
  const swept = fields.map(({ kind, name }) => ({ kind, name: values.sweep(name, 'utf8') }));
  return [...new Map(swept.map((field) => [`${field.kind} ${field.name}`, field])).values()];
};

/**
 * Returns the entry without the values that the rules hide, wherever they appear and in common encodings (see `HiddenValues`), and
 * without credentials that are recognized by their format. The rest keeps its bytes. `clientAddress` stays in the entry. This
 * function is pure. It takes tens of milliseconds for large bodies.
 */
export const redact = (entry: LogEntry, rules: RedactionRules): RedactedEntry => {
  const redactor = new Redactor(compileRedactionRules(rules));
  const { request, response } = entry;
  const shown = redactFields(redactor, entry);
  const { requestBody, responseBody } = shown;
  redactor.address(entry.clientAddress);

  // A value that was removed from one part must not appear in another part, for example if the upstream echoes the request.
  const sweep = (text: string): string => redactor.values.sweep(text, 'latin1');
  const sweepBody = ({ text, state }: ReturnType<typeof redactBody>): string =>
    redactor.values.sweep(text, 'utf8', state.isCut);
  const sweepHeaders = (headers: readonly HeaderPair[]): readonly HeaderPair[] =>
    headers.map(([name, value]) => [sweep(name), sweep(value)]);
  return {
    entry: {
      ...entry,
      path: sweep(shown.path),
      query: sweep(shown.query),
      upstreamUrl: sweep(shown.upstreamUrl),
      upstreamError: redactor.values.sweep(shown.upstreamError, 'utf8'),
      templateError: redactor.values.sweep(shown.templateError, 'utf8'),
      deliveryId: sweep(entry.deliveryId),
      request: {
        ...request,
        target: sweep(shown.target),
        headers: sweepHeaders(shown.requestHeaders),
        trailers: sweepHeaders(shown.requestTrailers),
        body: sweepBody(requestBody),
        bodyEncoding: 'utf8',
      },
      response: {
        ...response,
        headers: sweepHeaders(shown.responseHeaders),
        trailers: sweepHeaders(shown.responseTrailers),
        body: sweepBody(responseBody),
        bodyEncoding: 'utf8',
      },
    },
    hidden: sweepNames(redactor),
    request: requestBody.state,
    response: { ...responseBody.state, isCut: responseBody.state.isCut || response.truncated },
  };
};
