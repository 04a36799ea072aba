import type { UpstreamResponse } from '@standin/egress';
import type { Exchange } from '../request/exchange.ts';
import type { Capture } from './capture.ts';

export interface RelayOptions {
  readonly capture: Capture;
  /** Undefined if the response to the caller is chunked. */
  readonly contentLength: number | undefined;
  /** After the caller has disconnected, the response is read for the log until this many bytes of it have arrived in total. */
  readonly readBytesMax: number;
  /**
   * How much longer the response is read after the caller has disconnected, in milliseconds. Without this limit, reading a response
   * that sends a byte now and then would never end.
   */
  readonly readMsMax: number;
}

export interface RelayEnd {
  /** The bytes that complete the response for the caller, to be sent after the response is recorded. */
  readonly heldBack: Uint8Array | undefined;
  /** Set if the upstream stopped before the end of its response. The caller must not mistake the response for a complete one. */
  readonly error: unknown;
  /** Whether the caller closed the connection and the rest of the response was not read. */
  readonly isCutShort: boolean;
}

/**
 * Passes a response body on as it arrives, no faster than the caller reads it. Holds back only the chunk that completes a body of
 * known length, because a chunked body is complete only with its terminator.
 */
export const relayBody = async (
  response: UpstreamResponse,
  exchange: Exchange,
  { capture, contentLength, readBytesMax, readMsMax }: RelayOptions,
): Promise<RelayEnd> => {
  let heldBack: Uint8Array | undefined;
  let goneMs: number | undefined;
  if (response.body.readableLength === 0 && contentLength !== 0) exchange.flushHead();
  try {
    for await (const chunk of response.body as AsyncIterable<Buffer>) {
      capture.add(chunk);
      if (exchange.isGone) {
        goneMs ??= performance.now();
        const isEnough = capture.totalBytes >= readBytesMax || performance.now() - goneMs >= readMsMax;
        if (isEnough) return { heldBack, error: undefined, isCutShort: true };
      } else if (contentLength !== undefined && capture.totalBytes >= contentLength) {
        heldBack = chunk;
      } else if (!exchange.write(chunk)) {
        await exchange.drained();
      }
    }
  } catch (error) {
    return { heldBack, error, isCutShort: false };
  }
  return { heldBack, error: undefined, isCutShort: false };
};
