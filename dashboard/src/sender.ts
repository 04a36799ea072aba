import type { ServerResponse } from 'node:http';
import { networkHolder } from './holders.ts';

/** The sender of a request. */
export interface Sender {
  /** Finds whose shares the request uses (`holders.ts`). Never rejects. */
  readonly findHolder: () => Promise<string>;
  /** Aborts when the sender has left, or has the whole response. */
  readonly signal: AbortSignal;
}

/** Returns the sender of a request before the API server knows the user. */
export const networkSender = (clientAddress: string, response: Pick<ServerResponse, 'destroyed' | 'once'>): Sender => {
  const closed = new AbortController();
  if (response.destroyed) closed.abort();
  else response.once('close', () => closed.abort());
  return { findHolder: () => Promise.resolve(networkHolder(clientAddress)), signal: closed.signal };
};
