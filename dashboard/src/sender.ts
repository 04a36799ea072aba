import type { ServerResponse } from 'node:http';
import { networkHolder } from './holders.ts';

/** The sender of a request. */
export interface Sender {
  /** Finds whose shares the request uses (`holders.ts`). Never rejects. */
  readonly findHolder: () => Promise<string>;
  /** Aborts when the sender has left, or when the response needs nothing more than its bytes (`tellEncoded`). */
  readonly signal: AbortSignal;
}

const ENCODED = Symbol('encoded');

/**
 * Reports that a response is encoded, so that what was read for it is no longer needed. Otherwise, a client that receives the response
 * slowly would occupy what others wait for.
 */
export const tellEncoded = (response: Pick<ServerResponse, 'emit'>): void => void response.emit(ENCODED);

/** Returns the sender of a request before the API server knows the user. */
export const networkSender = (clientAddress: string, response: Pick<ServerResponse, 'destroyed' | 'once'>): Sender => {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  if (response.destroyed) end();
  else response.once('close', end).once(ENCODED, end);
  return { findHolder: () => Promise.resolve(networkHolder(clientAddress)), signal: ended.signal };
};
