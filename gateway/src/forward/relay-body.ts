import type { UpstreamResponse } from '@standin/egress';
import type { Exchange } from '../request/exchange.ts';
import { CallerGone } from './caller-gone.ts';
import type { Capture } from './capture.ts';

export interface RelayOptions {
  readonly capture: Capture;
  /** Undefined if the response to the caller is chunked. */
  readonly contentLength: number | undefined;
  /** After the caller has disconnected, the response is read for the log until this many bytes of it have arrived in total. */
  readonly readBytesMax: number;
}

export interface RelayEnd {
  /** The bytes that complete the response for the caller, to be sent after the response is recorded. */
  readonly heldBack: Uint8Array | undefined;
  /** Set if the response was not read to its end. The caller must not mistake it for a complete one. */
  readonly error: unknown;
}

/**
 * Passes a response body on as it arrives, no faster than the caller reads it. Holds back only the chunk that completes a body of
 * known length, because a chunked body is complete only with its terminator.
 */
export const relayBody = async (
  response: UpstreamResponse,
  exchange: Exchange,
  { capture, contentLength, readBytesMax }: RelayOptions,
): Promise<RelayEnd> => {
  let heldBack: Uint8Array | undefined;
  if (response.body.readableLength === 0 && contentLength !== 0) exchange.flushHead();
  try {
    for await (const chunk of response.body as AsyncIterable<Buffer>) {
      capture.add(chunk);
      if (exchange.isGone) {
        const isComplete = contentLength !== undefined && capture.totalBytes >= contentLength;
        if (capture.totalBytes >= readBytesMax && !isComplete) return { heldBack, error: new CallerGone() };
      } else if (contentLength !== undefined && capture.totalBytes >= contentLength) {
        heldBack = chunk;
      } else if (!exchange.write(chunk)) {
        await exchange.drained();
      }
    }
  } catch (error) {
    return { heldBack, error };
  }
  return { heldBack, error: undefined };
};
