import type { HeaderPair } from '@standin/contract';
import type { Exchange } from '../request/exchange.ts';

/** The connection to the caller was closed before the response was complete. The message is for readers of the log. */
export class CallerGone extends Error {
  readonly code = 'caller_gone';

  constructor() {
    super('The connection to the caller was closed. The gateway then ended the request to the upstream.');
  }
}

/** How long a request to an upstream lasts after the caller has disconnected, in milliseconds. */
export interface WaitWithoutCaller {
  readonly headMsMax: number;
  /** From the disconnect or the head of the response, whichever is later. */
  readonly bodyMsMax: number;
}

/** Media types of responses that last until the caller disconnects. */
const STREAM = /^\s*(?:text\/event-stream|application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-seq))\s*(?:;|$)/i;

/** Aborts `ending` with `CallerGone` some time after the caller has disconnected. */
export const endWithoutCaller = (
  exchange: Exchange,
  ending: AbortController,
  { headMsMax, bodyMsMax }: WaitWithoutCaller,
): { responded(headers: readonly HeaderPair[]): void; stop(): void } => {
  const { onClosed } = exchange.connection;
  let waitMs = headMsMax;
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(timer);
    if (waitMs === 0) ending.abort(new CallerGone());
    else timer = setTimeout(() => ending.abort(new CallerGone()), waitMs).unref();
  };
  onClosed.add(wait);
  if (exchange.isGone) wait();
  return {
    responded: (headers) => {
      const isStream = headers.some(([name, value]) => name.toLowerCase() === 'content-type' && STREAM.test(value));
      waitMs = isStream ? 0 : bodyMsMax;
      if (exchange.isGone) wait();
    },
    stop: () => {
      clearTimeout(timer);
      onClosed.delete(wait);
    },
  };
};
