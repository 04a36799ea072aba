import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage, REJECTED_HEADER, type HeaderPair, type RejectionCode } from '@standin/contract';
import { EgressError, GatheredBytes, type Egress, type ReplayRequest, type UpstreamResponse } from '@standin/egress';
import type { Destination } from './destination.ts';

/** A response. `error` is empty if the response is complete. */
export interface ReplayedResponse {
  /** The status of the response, or 0 if there was no response. */
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
  readonly bodyBytes: number;
  readonly truncated: boolean;
  readonly error: string;
  /** The time when the request was sent, in microseconds since the epoch. */
  readonly sentAtUs: number;
  readonly firstByteUs: number;
  readonly durationUs: number;
}

export interface SendOptions {
  readonly egress: Egress;
  /** The namespace of the Replay. */
  readonly namespace: string;
  /** The uid of the Account of the Replay's Project. */
  readonly account: string;
  /** Maximum number of bytes of a response body that are kept. */
  readonly captureBytesMax: number;
  readonly signal: AbortSignal;
}

/** Limits for reading a response that does not end. */
const READ_BYTES_MAX = 64 * 1024 * 1024;
const TRICKLE_MS_MAX = 300_000;
/** Delays before retries while a gateway is unreachable or temporarily rejects requests. */
const GATEWAY_RETRIES_MS = [250, 500, 1_000, 2_000, 4_000, 8_000];

interface Attempt extends ReplayedResponse {
  /** Whether the request got no response, because there was no connection or because the connection was closed too early. */
  readonly isUnreachable: boolean;
}

/** Sends a request once and reads its response. Rejects only when `signal` aborts. */
const sendOnce = async (request: ReplayRequest, to: Destination, options: SendOptions): Promise<Attempt> => {
  const { egress, namespace, account, captureBytesMax, signal } = options;
  const sentAtUs = Date.now() * 1_000;
  const startedAt = performance.now();
  const elapsedUs = (): number => Math.round((performance.now() - startedAt) * 1_000);
  const nothing = { status: 0, headers: [], body: Buffer.alloc(0), bodyBytes: 0, truncated: false, firstByteUs: 0 };
  let got: Pick<ReplayedResponse, 'status' | 'headers' | 'body' | 'bodyBytes' | 'truncated' | 'firstByteUs'> = nothing;
  const failed = (failure: unknown): Attempt => {
    signal.throwIfAborted();
    const isUnreachable = failure instanceof EgressError && failure.code === 'upstream_unreachable';
    return { ...got, error: failureReason(failure), isUnreachable, sentAtUs, durationUs: elapsedUs() };
  };
  // Limits the total duration of a response, even if data keeps arriving.
  const cut = new AbortController();
  const timer = setTimeout(
    () => cut.abort(new ResponseCut('The response took too long.')),
    to.timeoutMs + TRICKLE_MS_MAX,
  );
  try {
    const answer = await egress.request({
      url: request.url,
      method: request.method,
      headers: request.sent,
      body: request.body.length === 0 ? undefined : request.body,
      timeoutMs: to.timeoutMs,
      viaService: to.viaService,
      tls: to.tls,
      namespace,
      account,
      obstacle: to.obstacle,
      signal: AbortSignal.any([signal, cut.signal]),
    });
    got = { ...nothing, status: answer.status, headers: answer.headers, firstByteUs: elapsedUs() };
    const { failure, ...kept } = await readBody(answer, captureBytesMax);
    got = { ...got, ...kept };
    if (failure !== undefined) return failed(failure);
    return { ...got, error: '', isUnreachable: false, sentAtUs, durationUs: elapsedUs() };
  } catch (failure) {
    return failed(failure);
  } finally {
    clearTimeout(timer);
  }
};

/** The error for a response that is too long or takes too long, so that it is not read to its end. */
class ResponseCut extends Error {
  override readonly name = 'ResponseCut';
}

const failureReason = (failure: unknown): string =>
  failure instanceof EgressError || failure instanceof ResponseCut
    ? failure.message
    : `The request cannot be sent: ${errorMessage(failure)}.`;

type Body = Pick<ReplayedResponse, 'body' | 'bodyBytes' | 'truncated'> & { readonly failure: unknown };

const readBody = async ({ body }: UpstreamResponse, bytesMax: number): Promise<Body> => {
  const gathered = new GatheredBytes();
  let keptBytes = 0;
  let bodyBytes = 0;
  let failure: unknown;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bodyBytes += chunk.length;
      const part = chunk.subarray(0, Math.max(0, bytesMax - keptBytes));
      if (part.length > 0) gathered.add(part);
      keptBytes += part.length;
      if (bodyBytes > READ_BYTES_MAX) throw new ResponseCut(`The response is longer than ${READ_BYTES_MAX} bytes.`);
    }
  } catch (error) {
    failure = error;
  }
  return { body: gathered.bytes(), bodyBytes, truncated: bodyBytes > keptBytes, failure };
};

/**
 * Returns whether the response is from a gateway that temporarily cannot accept requests. Such a gateway has not forwarded the
 * request.
 */
const isTemporarilyRejected = ({ status, headers }: ReplayedResponse): boolean => {
  const rejected = headers.find(([name]) => name.toLowerCase() === REJECTED_HEADER)?.[1];
  // An Endpoint with a mistake is refused until a user corrects it.
  if (rejected === undefined || rejected === ('endpoint_not_accepted' satisfies RejectionCode)) return false;
  return status === 503 || rejected === 'rate_limited';
};

/**
 * Sends a request and reads its response. Requests to an upstream or a URL are sent once. Requests to a gateway that is
 * unreachable, or temporarily rejects requests, are retried for a while. Rejects only when `signal` aborts.
 */
export const sendReplay = async (
  request: ReplayRequest,
  to: Destination,
  options: SendOptions,
): Promise<ReplayedResponse> => {
  for (const retryMs of to.target === 'Endpoint' ? GATEWAY_RETRIES_MS : []) {
    const answer = await sendOnce(request, to, options);
    if (!answer.isUnreachable && !isTemporarilyRejected(answer)) return answer;
    await delay(retryMs, undefined, { signal: options.signal });
  }
  return sendOnce(request, to, options);
};
