import type { HeaderPair } from '@standin/contract';
import { latin1Bytes, type EncodedBody } from './wire-bytes.ts';

/** The fields of a request that the formats need. Every `LogEntry` has them. */
export interface RequestEntry {
  readonly method: string;
  readonly request: EncodedBody & {
    readonly target: string;
    readonly httpVersion: string;
    readonly headers: readonly HeaderPair[];
    readonly trailers: readonly HeaderPair[];
  };
}

const CRLF = '\r\n';

/**
 * Returns a head as sent on the wire, including the empty line at its end, in latin1 with one byte per character. Whitespace around
 * values is not recorded.
 */
const messageHead = (firstLine: string, headers: readonly HeaderPair[]): string =>
  [firstLine, ...headers.map(([name, value]) => (value === '' ? `${name}:` : `${name}: ${value}`)), '', ''].join(CRLF);

/** The components of a request's head. */
export interface RequestHead {
  readonly method: string;
  readonly request: Pick<RequestEntry['request'], 'target' | 'httpVersion' | 'headers'>;
}

export const requestHead = ({ method, request: { target, httpVersion, headers } }: RequestHead): string =>
  messageHead(`${method} ${target} HTTP/${httpVersion}`, headers);

/** Returns the bytes of a request: its head and its body. The chunks of a chunked body are joined. */
export const requestMessage = (of: RequestHead, body: Uint8Array): Uint8Array<ArrayBuffer> => {
  const head = latin1Bytes(requestHead(of));
  const message = new Uint8Array(head.length + body.length);
  message.set(head);
  message.set(body, head.length);
  return message;
};
