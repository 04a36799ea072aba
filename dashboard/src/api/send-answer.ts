import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { jsonStream } from '../json-pieces.ts';
import { tellEncoded } from '../sender.ts';
import type { CountedWrite } from '../unreceived-bytes.ts';
import { API_PROBLEMS, ApiProblem, problemBody, type ApiProblemKind } from './problems.ts';
import type { Answer, Write } from './route.ts';

const sendBytes = (response: ServerResponse, bytes: Uint8Array): void => {
  response.setHeader('content-length', bytes.byteLength);
  response.end(bytes);
};

/**
 * Writes a response. Rejects with the error of a stream's `run`. If the headers have already been sent, closes the connection
 * first.
 */
export const sendAnswer = async (
  response: ServerResponse,
  answer: Answer,
  countedWrite: CountedWrite,
): Promise<void> => {
  switch (answer.kind) {
    case 'json':
      response.statusCode = answer.status ?? 200;
      await sendStream(response, jsonPieces(response, answer.body), countedWrite);
      return;
    case 'empty':
      response.writeHead(204).end();
      return;
    case 'bytes':
      response.setHeaders(new Map(Object.entries(answer.headers)));
      sendBytes(response, answer.bytes);
      return;
    case 'stream':
      response.statusCode = answer.status ?? 200;
      await sendStream(response, answer, countedWrite);
  }
};

type Stream = Pick<Answer & { readonly kind: 'stream' }, 'headers' | 'run'>;

/** Returns JSON in pieces. Otherwise, captured bodies in the value could block the event loop. */
const jsonPieces = (response: ServerResponse, value: unknown): Stream => ({
  headers: { 'content-type': 'application/json' },
  run: async (write) => {
    const pieces = jsonStream(value);
    const [first, second] = [await pieces.next(), await pieces.next()];
    // The value has no captured bodies, which would be in memory until they are sent.
    if (second.done === true) tellEncoded(response);
    for (const piece of [first, second]) if (piece.done !== true) await write(piece.value);
    for await (const piece of pieces) await write(piece);
    await write('\n');
  },
});

const sendStream = async (response: ServerResponse, answer: Stream, countedWrite: CountedWrite): Promise<void> => {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const setHeaders = (): void => {
    if (!response.headersSent) response.setHeaders(new Map(Object.entries(answer.headers)));
  };
  const write: Write = async (text) => {
    if (closed.signal.aborted) return;
    setHeaders();
    if (!countedWrite(text))
      throw new ApiProblem('busy', 'You have not received your earlier responses yet. Read them, then try again.');
    // Also resolves if the client disconnects.
    if (response.writableNeedDrain) await once(response, 'drain', { signal: closed.signal }).catch(() => undefined);
  };
  try {
    await answer.run(write);
    setHeaders();
    response.end();
  } catch (error) {
    if (!response.headersSent) throw error;
    // A partial response must not look complete.
    response.destroy();
    throw error;
  }
};

export const sendProblem = (response: ServerResponse, problem: ApiProblem): void => {
  const { status, retryAfterS }: ApiProblemKind = API_PROBLEMS[problem.code];
  response.statusCode = status;
  response.setHeader('content-type', 'application/problem+json');
  if (retryAfterS !== undefined) response.setHeader('retry-after', retryAfterS);
  if (problem.code === 'unauthorized') response.setHeader('www-authenticate', 'Bearer');
  response.end(`${JSON.stringify(problemBody(problem))}\n`);
};
