import { errorMessage, parseInstant, SourceError, type HeaderPair, type ResourceObject } from '@standin/contract';
import { replayRequest, type Egress, type ReplayRequest, type RequestEdit } from '@standin/egress';
import { bodyAsBuffer, type LogEntry } from '@standin/exchange';
import type { ReplayResult } from '@standin/logstore';
import type { ReplaySpec } from '@standin/crds';
import { Destinations, type Destination, type DestinationParts } from './destination.ts';
import type { ReplayPlan } from './replay-plan.ts';
import { sendReplay, type ReplayedResponse } from './send-replay.ts';

export interface SenderParts extends DestinationParts {
  readonly egress: {
    /** The egress to the gateways, which may have private addresses. */
    readonly gateway: Egress;
    /** The egress to upstreams and URLs, which applies the address policy. */
    readonly upstream: Egress;
  };
}

export interface SenderOptions {
  readonly plan: ReplayPlan;
  readonly replay: ResourceObject;
  /** Maximum number of bytes of a response body that are stored. */
  readonly captureBytesMax: number;
}

const requestEdit = ({ edit }: ReplaySpec): RequestEdit =>
  edit === undefined
    ? {}
    : {
        method: edit.method,
        target: edit.target,
        headers: edit.headers?.map(({ name, value }): HeaderPair => [name, value]),
        body: edit.body === undefined ? undefined : Buffer.from(edit.body, edit.bodyEncoding),
      };

const noResponse = (error: string): ReplayedResponse => ({
  status: 0,
  headers: [],
  body: Buffer.alloc(0),
  bodyBytes: 0,
  truncated: false,
  error,
  sentAtUs: Date.now() * 1_000,
  firstByteUs: 0,
  durationUs: 0,
});

/** Sends captured requests as a Replay specifies, and turns the responses into results. */
export class ReplaySender {
  readonly #parts: SenderParts;
  readonly #options: SenderOptions;
  readonly #destinations: Destinations;
  readonly #edit: RequestEdit;

  constructor(parts: SenderParts, options: SenderOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#destinations = new Destinations(parts, options.plan);
    this.#edit = requestEdit(options.plan.spec);
  }

  /** Resolves with the reason why this request cannot be sent, or with undefined if it can. */
  async obstacle(entry: LogEntry): Promise<string | undefined> {
    const to = await this.#destination(entry);
    return typeof to === 'string' ? to : undefined;
  }

  /** Sends a request. Every error becomes a result, except an abort of `signal`. */
  async send(entry: LogEntry, signal: AbortSignal): Promise<ReplayResult> {
    const to = await this.#destination(entry);
    if (typeof to === 'string') return this.#result(entry, noResponse(to));
    let request: ReplayRequest;
    try {
      request = replayRequest(capturedRequest(entry), this.#edit, to);
    } catch (error) {
      return this.#result(entry, noResponse(`The request cannot be sent: ${errorMessage(error)}.`));
    }
    const { egress } = this.#parts;
    const { captureBytesMax, plan, replay } = this.#options;
    const { namespace } = replay.metadata;
    const way = to.target === 'Endpoint' ? egress.gateway : egress.upstream;
    const answer = await sendReplay(request, to, {
      egress: way,
      namespace,
      account: plan.accountUid,
      captureBytesMax,
      signal,
    });
    return this.#result(entry, answer, { request, to });
  }

  async #destination(entry: LogEntry): Promise<Destination | string> {
    try {
      return await this.#destinations.of(entry);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      return `The account’s API key cannot be read: ${error.message}.`;
    }
  }

  #result(
    entry: LogEntry,
    response: ReplayedResponse,
    sent?: { readonly request: ReplayRequest; readonly to: Destination },
  ): ReplayResult {
    const { plan, replay } = this.#options;
    const isEdited = this.#edit.body !== undefined;
    return {
      projectUid: plan.project.uid,
      replayUid: replay.metadata.uid,
      requestId: entry.id,
      requestReceivedAtUs: parseInstant(entry.receivedAt) ?? 0,
      sentAtUs: response.sentAtUs,
      expiresAtS: Math.floor(response.sentAtUs / 1e6) + plan.retentionDays * 86_400,
      namespace: replay.metadata.namespace,
      project: plan.project.name,
      replay: replay.metadata.name,
      target: plan.spec.target.kind,
      url: sent?.request.url ?? '',
      method: sent?.request.method ?? entry.method,
      sentHeaders: sent === undefined ? [] : shownHeaders(sent.request, sent.to),
      sentBody: this.#edit.body ?? new Uint8Array(),
      edited: isEdited,
      status: response.status,
      responseHeaders: response.headers,
      responseBody: response.body,
      responseBodyBytes: response.bodyBytes,
      responseTruncated: response.truncated,
      error: response.error,
      durationUs: response.durationUs,
      firstByteUs: response.firstByteUs,
    };
  }
}

/** What is stored in place of the value of a header from a Secret. */
const FROM_SECRET = '(from a Secret)';

const shownHeaders = ({ sent }: ReplayRequest, { keyShown, secretHeaders = [] }: Destination): HeaderPair[] => {
  const secret = new Set(secretHeaders.map(([name]) => name.toLowerCase()));
  return sent.map(([name, value]) => {
    if (secret.has(name.toLowerCase())) return [name, FROM_SECRET];
    return name === 'x-api-key' ? [name, keyShown] : [name, value];
  });
};

const capturedRequest = ({ id, method, request }: LogEntry) => ({
  id,
  method,
  target: request.target,
  headers: request.headers,
  body: bodyAsBuffer(request),
});
