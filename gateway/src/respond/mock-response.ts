import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { DelayConfig, HeaderPair, JsonMockConfig, ResponseConfig } from '@standin/contract';
import { DEFAULT_CONTENT_TYPE } from '@standin/responses';
import type { Mock, MockSource } from '../request/route.ts';

/**
 * Headers that a mock must not have, because the gateway itself frames responses and manages connections. `standin-rejected` would
 * make a response look like a rejection.
 */
const RESERVED_HEADERS = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'standin-rejected',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The statuses that the gateway sends without Content-Length, because their responses never have content (RFC 9110). A 205 response
 * has no content either, but it has `content-length: 0`.
 */
const BODYLESS_STATUSES = new Set([204, 304]);

/** Above this size, writing the body separately is cheaper than copying it after the head. */
const ONE_WRITE_BYTES_MAX = 16 * 1024;

const NOTHING = Buffer.alloc(0);
const NO_EXPRESSIONS: MockSource['expressions'] = [];

const isDate = ([name]: HeaderPair): boolean => name.toLowerCase() === 'date';

type MockConfig = JsonMockConfig & Partial<Pick<ResponseConfig['mock'], 'bodyEncoding'>>;

/**
 * A prepared mock, for which a request computes only the date. Throws an error with a readable message if HTTP cannot carry the
 * mock.
 */
export class MockResponse implements Mock, MockSource {
  readonly outcome = 'mocked';
  readonly templateError = '';
  readonly expressions = NO_EXPRESSIONS;
  readonly status: number;
  readonly delay: DelayConfig | undefined;
  readonly #text: string;
  readonly #headers: readonly HeaderPair[];
  readonly #hasOwnDate: boolean;
  readonly #isAscii: boolean;
  #bytes: Buffer | undefined;
  #datedHeaders: readonly HeaderPair[] = [];
  #date = '';

  constructor({ status, headers, body, bodyEncoding = 'utf8', delay }: MockConfig) {
    if (status < 200 || status > 599) throw new Error(`the status must be from 200 to 599, not ${status}`);
    for (const [name, value] of headers) checkHeader(name, value);
    this.status = status;
    this.delay = delay;
    const text = status === 205 || BODYLESS_STATUSES.has(status) ? '' : body;
    this.#text = bodyEncoding === 'utf8' ? text : '';
    if (text !== this.#text) this.#bytes = Buffer.from(text, bodyEncoding);
    const bytes = this.#bytes?.length ?? Buffer.byteLength(text);
    this.#isAscii = bytes === this.#text.length;
    const names = new Set(headers.map(([name]) => name.toLowerCase()));
    this.#headers = [
      ...headers,
      ...(bytes === 0 || names.has('content-type') ? [] : [DEFAULT_CONTENT_TYPE]),
      ...(BODYLESS_STATUSES.has(status) ? [] : [['content-length', String(bytes)] as const]),
    ];
    this.#hasOwnDate = headers.some(isDate);
    if (this.#hasOwnDate) this.#datedHeaders = this.#headers;
  }

  mockFor(): Mock {
    return this;
  }

  /** Returns the headers in order, with their case, including `Date`. Returns the same array for the same date. */
  headers(date: string): readonly HeaderPair[] {
    if (!this.#hasOwnDate && date !== this.#date) {
      this.#date = date;
      this.#datedHeaders = [...this.#headers, ['date', date]];
    }
    return this.#datedHeaders;
  }

  /** The body as stored in the log. */
  get bytes(): Buffer {
    this.#bytes ??= this.#text === '' ? NOTHING : Buffer.from(this.#text);
    return this.#bytes;
  }

  /** The body in the form that is fastest to write. A string has one byte per character. */
  get wire(): string | Buffer {
    return this.#isAscii && this.#text.length <= ONE_WRITE_BYTES_MAX ? this.#text : this.bytes;
  }
}

/** Throws an error with a readable message if a mock cannot have the header. */
export const checkHeader = (name: string, value: string): void => {
  validateHeaderName(name);
  validateHeaderValue(name, value);
  if (RESERVED_HEADERS.has(name.toLowerCase())) {
    throw new Error(`header ${name} cannot be set: the gateway frames the response and manages the connection`);
  }
};
