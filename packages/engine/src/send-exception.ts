import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorMessage } from '@standin/contract/error-message';
import { engineException, EngineException } from './engine-exception.ts';
import { GateFullError } from './concurrency-limit.ts';
import { StatementError } from './statement.ts';

/** HTTP statuses for ClickHouse's exceptions, as on its own server (ClickHouse src/Server/HTTP/exceptionCodeToHTTPStatus.cpp). */
const CODES_BY_STATUS: readonly (readonly [status: number, codes: readonly number[]])[] = [
  [400, [6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223, 321, 376, 427, 441, 675, 676]],
  [401, [194]],
  [403, [192, 193, 497, 512, 516]],
  [404, [46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511]],
  [408, [159]],
  [413, [229]],
  [501, [48]],
  [503, [76, 209, 439]],
];

const statuses: ReadonlyMap<number, number> = new Map(
  CODES_BY_STATUS.flatMap(([status, codes]) => codes.map((code): [number, number] => [code, status])),
);

const exceptionStatus = (code: number): number => statuses.get(code) ?? 500;

const asException = (error: unknown): EngineException => {
  if (error instanceof EngineException) return error;
  if (error instanceof GateFullError)
    return engineException(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', `Too many simultaneous queries: ${error.message}`);
  if (error instanceof StatementError) return engineException(115, 'UNKNOWN_SETTING', error.message);
  return engineException(1001, 'STD_EXCEPTION', errorMessage(error));
};

/** Responds like the ClickHouse server: a status, the code in a header, and text. */
export const sendException = (
  request: IncomingMessage,
  response: ServerResponse,
  version: string,
  error: unknown,
): void => {
  const { code, message } = asException(error);
  // The rest of the body has not been read, so the connection cannot be reused.
  if (!request.complete) response.setHeader('Connection', 'close');
  response.setHeader('X-ClickHouse-Exception-Code', code);
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
  response.statusCode = exceptionStatus(code);
  response.end(`${message} (version ${version} (embedded))\n`);
};
