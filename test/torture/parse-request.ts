import type { HeaderPair } from '@standin/contract';

/** A request as received by an upstream. Text is Latin-1. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
}

/**
 * Returns the first complete request in `bytes` and the index after it, or `undefined` if no request is complete. Only
 * Content-Length frames a request, because the gateway never sends chunked requests.
 */
export const parseRequest = (bytes: Buffer): { request: SeenRequest; end: number } | undefined => {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [requestLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const [method = '', target = ''] = requestLine.split(' ');
  const headers = lines.map((line): HeaderPair => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
  const length = Number(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? '0');
  const end = headEnd + 4 + length;
  if (bytes.length < end) return undefined;
  return { request: { method, target, headers, body: bytes.subarray(headEnd + 4, end) }, end };
};
