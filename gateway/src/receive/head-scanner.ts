import { BodySkipper } from './body-skipper.ts';

/** Facts about one request head, taken from its raw bytes before the parser trims them. */
export interface HeadVerdict {
  readonly requestLineBytes: number;
  /** The number of header lines. */
  readonly lines: number;
  /** The number of lines with the name `x-api-key`, in any case. */
  readonly keyLines: number;
  /** The bytes in the value of the last `x-api-key` line, without the spaces and tabs around it. 0 if there is no such line. */
  readonly keyLength: number;
  /** Whether any `x-api-key` line has more than one space or a tab after its colon, or a space or tab after its value. */
  readonly keyPadded: boolean;
}

const LF = 0x0a;
const CR = 0x0d;
const SP = 0x20;
const HTAB = 0x09;
const COLON = 0x3a;

const BEFORE_HEAD = 0;
const REQUEST_LINE = 1;
const LINE_START = 2;
const NAME = 3;
const OTHER_LINE = 4;
const KEY_VALUE = 5;
const LENGTH_VALUE = 6;
const CODING_VALUE = 7;
const HEAD_END = 8;
const BODY = 9;
/** The request has ended. */
const ENDED = 10;

interface WatchedName {
  readonly bytes: Uint8Array;
  readonly valueState: number;
}
const watched = (name: string, valueState: number): WatchedName => ({ bytes: Buffer.from(name), valueState });
const KEY = watched('x-api-key', KEY_VALUE);
const CONTENT_LENGTH = watched('content-length', LENGTH_VALUE);
const TRANSFER_ENCODING = watched('transfer-encoding', CODING_VALUE);

/** Returns the watched name that begins with this lowercase letter, if any. At most one does. */
const nameBeginning = (letter: number): WatchedName | undefined => {
  if (letter === 0x78) return KEY;
  if (letter === 0x63) return CONTENT_LENGTH;
  return letter === 0x74 ? TRANSFER_ENCODING : undefined;
};

/**
 * Reads all bytes of a connection before Node's parser, which trims header values, and keeps a verdict on the latest head. Also finds
 * the end of each request, so that the parser gets one request at a time. A head can span chunks, a chunk can contain several heads, and
 * bodies can contain text that looks like a head, so the scanner follows the framing (RFC 9112 section 6) for all input that Node's
 * parser accepts. The scanner does not refuse requests. `readHead` compares a verdict with the parsed head, and the connection closes
 * if the two disagree.
 */
export class HeadScanner {
  #verdict: HeadVerdict | undefined;
  readonly #body = new BodySkipper();
  #state = BEFORE_HEAD;
  #name: WatchedName | undefined;
  #nameAt = 0;

  #requestLineBytes = 0;
  #lines = 0;
  #keyLines = 0;
  #keyLength = 0;
  #keyPadded = false;
  /** The number of spaces and tabs since the value's last visible byte. */
  #blanks = 0;
  /** The number of bytes from the value's first visible byte to its last one so far. */
  #valueLength = 0;
  #tabAhead = false;

  #contentLength = 0;
  #chunked = false;

  /**
   * The size in bytes of the request line of the head whose verdict was not taken, or of the head that is still arriving. Shows why a
   * head is too large.
   */
  get requestLineBytes(): number {
    return this.#verdict?.requestLineBytes ?? this.#requestLineBytes;
  }

  /** Whether the last request has ended, and the next one has not begun. */
  get isBetweenRequests(): boolean {
    return this.#state === BEFORE_HEAD || this.#state === ENDED;
  }

  /** Whether the arriving body has too many small chunks. */
  get isFragmented(): boolean {
    return this.#body.isFragmented;
  }

  /** Scans a chunk from this index until the request or the chunk ends. Returns the index at which it stopped. */
  push(chunk: Uint8Array, from: number): number {
    if (this.#state === ENDED) this.#state = BEFORE_HEAD;
    const at = this.#scanHead(chunk, from);
    if (this.#state !== BODY) return at;
    const end = this.#body.skip(chunk, at);
    if (this.#body.isDone) this.#state = ENDED;
    return end;
  }

  /** Removes and returns the verdict on the latest head. */
  take(): HeadVerdict | undefined {
    const verdict = this.#verdict;
    this.#verdict = undefined;
    return verdict;
  }

  /** Scans until the chunk or the head ends. Returns the index at which it stopped. */
  #scanHead(chunk: Uint8Array, from: number): number {
    const end = chunk.length;
    let at = from;
    while (at < end && this.#state !== BODY && this.#state !== ENDED) {
      switch (this.#state) {
        case BEFORE_HEAD:
          // Empty lines before a request line are legal.
          if (chunk[at] !== CR && chunk[at] !== LF) this.#state = REQUEST_LINE;
          else at++;
          break;
        case REQUEST_LINE:
        case OTHER_LINE: {
          const start = at;
          while (at < end && chunk[at] !== LF) at++;
          if (this.#state === REQUEST_LINE) this.#requestLineBytes += at - start;
          if (at === end) break;
          this.#state = LINE_START;
          at++;
          break;
        }
        case LINE_START:
          this.#startLine(chunk[at++] ?? 0);
          break;
        case NAME:
          this.#readName(chunk[at++] ?? 0);
          break;
        case HEAD_END:
          if (chunk[at++] === LF) this.#endHead();
          else this.#state = OTHER_LINE;
          break;
        default:
          this.#readValue(chunk[at++] ?? 0);
      }
    }
    return at;
  }

  #startLine(byte: number): void {
    if (byte === CR) {
      this.#state = HEAD_END;
    } else if (byte === LF) {
      this.#endHead();
    } else {
      this.#lines++;
      this.#name = nameBeginning(byte | 0x20);
      this.#nameAt = 1;
      this.#state = this.#name === undefined ? OTHER_LINE : NAME;
    }
  }

  #readName(byte: number): void {
    const name = this.#name;
    if (name === undefined || byte === LF) {
      this.#state = byte === LF ? LINE_START : OTHER_LINE;
    } else if (this.#nameAt < name.bytes.length) {
      if ((byte | 0x20) === name.bytes[this.#nameAt]) this.#nameAt++;
      else this.#state = OTHER_LINE;
    } else if (byte === COLON) {
      this.#state = name.valueState;
      this.#blanks = 0;
      this.#valueLength = 0;
      this.#tabAhead = false;
    } else {
      this.#state = OTHER_LINE;
    }
  }

  #readValue(byte: number): void {
    if (byte === LF) {
      if (this.#state === KEY_VALUE) this.#endKey();
      this.#state = LINE_START;
    } else if (byte === SP || byte === HTAB) {
      this.#blanks++;
      if (byte === HTAB && this.#valueLength === 0) this.#tabAhead = true;
    } else if (byte !== CR) {
      this.#readVisible(byte);
    }
  }

  #readVisible(byte: number): void {
    if (this.#valueLength === 0) {
      if (this.#state === KEY_VALUE && (this.#blanks > 1 || this.#tabAhead)) this.#keyPadded = true;
      this.#valueLength = 1;
    } else {
      this.#valueLength += this.#blanks + 1;
    }
    this.#blanks = 0;
    // Node's parser rejects a length that contains anything but digits.
    if (this.#state === LENGTH_VALUE) this.#contentLength = this.#contentLength * 10 + (byte - 0x30);
    // Any coding counts as chunked: the parser rejects codings after `chunked`, and the receive stage refuses codings before it.
    else if (this.#state === CODING_VALUE) this.#chunked = true;
  }

  #endKey(): void {
    this.#keyLines++;
    this.#keyLength = this.#valueLength;
    if (this.#valueLength === 0 ? this.#blanks > 1 || this.#tabAhead : this.#blanks > 0) this.#keyPadded = true;
  }

  #endHead(): void {
    this.#verdict = {
      requestLineBytes: this.#requestLineBytes,
      lines: this.#lines,
      keyLines: this.#keyLines,
      keyLength: this.#keyLength,
      keyPadded: this.#keyPadded,
    };
    this.#state = ENDED;
    if (this.#chunked) {
      this.#body.startChunked();
      this.#state = BODY;
    } else if (this.#contentLength > 0) {
      this.#body.startSized(this.#contentLength);
      this.#state = BODY;
    }
    this.#requestLineBytes = 0;
    this.#lines = 0;
    this.#keyLines = 0;
    this.#keyLength = 0;
    this.#keyPadded = false;
    this.#contentLength = 0;
    this.#chunked = false;
  }
}
