import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { API_PROBLEMS, problemBody, type ApiProblem, type ApiProblemKind } from './problems.ts';
import { writeJson, type Answer, type Write } from './route.ts';

const sendBytes = (response: ServerResponse, bytes: Uint8Array): void => {
  response.setHeader('content-length', bytes.byteLength);
  response.end(bytes);
};

/**
 * Writes a response. Rejects with the error of a stream's `run`. If the headers have already been sent, closes the connection
 * first.
 */
export const sendAnswer = async (response: ServerResponse, answer: Answer): Promise<void> => {
  switch (answer.kind) {
    case 'json':
      response.statusCode = answer.status ?? 200;
      response.setHeader('content-type', 'application/json');
      await sendJson(response, answer.body);
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
      await sendStream(response, answer);
  }
};

/** Sends JSON in pieces. Otherwise, captured bodies in the value could block the event loop. */
const sendJson = (response: ServerResponse, value: unknown): Promise<void> =>
  sendStream(response, {
    headers: {},
    run: async (write) => {
      await writeJson(write, value);
      await write('\n');
    },
  });

type Stream = Pick<Answer & { readonly kind: 'stream' }, 'headers' | 'run'>;

const sendStream = async (response: ServerResponse, answer: Stream): Promise<void> => {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const write: Write = async (text) => {
    if (closed.signal.aborted) return;
    if (!response.headersSent) response.writeHead(response.statusCode, { ...answer.headers });
    if (response.write(text)) return;
    // Also resolves if the client disconnects.
    await once(response, 'drain', { signal: closed.signal }).catch(() => undefined);
  };
  try {
    await answer.run(write);
    // If `run` has written nothing, the headers have not been sent yet.
    if (!response.headersSent) response.writeHead(response.statusCode, { ...answer.headers });
    response.end();
  } catch (error) {
    if (!response.headersSent) throw error;
    // A partial response must not look complete.
    response.destroy();
    throw error;
  }
};

export const sendProblem = (response: ServerResponse, problem: ApiProblem): Promise<void> => {
  const { status, retryAfterS }: ApiProblemKind = API_PROBLEMS[problem.code];
  response.statusCode = status;
  response.setHeader('content-type', 'application/problem+json');
  if (retryAfterS !== undefined) response.setHeader('retry-after', retryAfterS);
  if (problem.code === 'unauthorized') response.setHeader('www-authenticate', 'Bearer');
  return sendJson(response, problemBody(problem));
};
