import { startVerifying, type Verifier } from '@standin/signatures';
import type { ConfigStore } from '../config/config-store.ts';
import { matchSigned } from '../match/match.ts';
import type { RoutingTable } from '../match/routing-table.ts';
import { GONE, noRoom, readBody } from '../receive/read-body.ts';
import type { AuthenticatedBySignature } from '../request/accepted.ts';
import type { Exchange } from '../request/exchange.ts';
import { Refusal, retryLater } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { Route, SignatureCredential } from '../request/route.ts';
import type { GatewaySettings } from '../settings.ts';
import { INVALID_SIGNATURE, KEY_MISSING } from '../authenticate/authenticate.ts';
import type { UnauthenticatedBudget } from './unauthenticated-budget.ts';

const NO_SECRETS = retryLater('not_ready', {
  detail: 'Try again shortly. The gateway is waiting for the operator to send the secrets of the endpoint.',
});

/** A request with a valid signature. The bytes of its head and body are no longer reserved. */
export interface SignedRequest {
  readonly authenticated: AuthenticatedBySignature;
  readonly route: Route;
  readonly body: Uint8Array;
}

export interface SignedRequestsOptions {
  readonly settings: { readonly limits: Pick<GatewaySettings['limits'], 'requestBodyBytes'> };
  readonly config: Pick<ConfigStore, 'secretValues'>;
  readonly unauthenticated: UnauthenticatedBudget;
}

/**
 * Authenticates requests without a key by their signature. Their bodies are needed to verify it, so they are read before anything
 * is known about the sender. They have their own limits, so that they do not take the place of requests with a key.
 */
export class SignedRequests {
  readonly #options: SignedRequestsOptions;

  constructor(options: SignedRequestsOptions) {
    this.#options = options;
  }

  /**
   * Takes a request without a key to the end of its body. Without an endpoint that accepts signatures, the refusal is that of every
   * request without a key. Reads no body if the head is sufficient to refuse the request.
   */
  async receive(
    exchange: Exchange,
    head: RequestHead,
    table: RoutingTable,
  ): Promise<SignedRequest | Refusal | typeof GONE> {
    const route = matchSigned(head, table);
    if (route === undefined) return KEY_MISSING;
    if (route instanceof Refusal) return route;
    exchange.project = route.project;
    const { credential } = route.endpoint;
    const started = this.#start(exchange, head, credential);
    if (started instanceof Refusal) return started;
    const { namespace } = route.account;
    const body = await this.#readBody(exchange, head, { namespace, onBytes: started.update });
    if (body instanceof Refusal || body === GONE) return body;
    const verified = started.finish();
    if (!verified.ok) return INVALID_SIGNATURE;
    const secretId = credential?.secretIds[verified.secretIndex] ?? '';
    return { authenticated: { kind: 'signature', secretId, deliveryId: verified.deliveryId ?? '' }, route, body };
  }

  /** Starts to verify the signature with the secrets that the endpoint has now. `revoked` checks later whether it still has them. */
  #start(
    { receivedAtUs }: Exchange,
    { headers }: RequestHead,
    credential: SignatureCredential | undefined,
  ): Verifier | Refusal {
    if (credential === undefined || credential.secretIds.length === 0) return INVALID_SIGNATURE;
    const secrets = this.#options.config.secretValues(credential);
    if (secrets === undefined) return NO_SECRETS;
    const started = startVerifying(credential.signature, { headers, nowMs: receivedAtUs / 1_000 }, secrets);
    return 'reason' in started ? INVALID_SIGNATURE : started;
  }

  /** Reads the body within the limits for unauthenticated requests. Its bytes are no longer reserved when the promise resolves. */
  async #readBody(
    exchange: Exchange,
    head: RequestHead,
    { namespace, onBytes }: { readonly namespace: string; readonly onBytes: (bytes: Uint8Array) => void },
  ): Promise<Uint8Array | Refusal | typeof GONE> {
    const { settings, unauthenticated: budget } = this.#options;
    const bodyBytesMax = settings.limits.requestBodyBytes;
    if (!budget.enter(exchange, namespace, head.headerBytes)) return noRoom(budget);
    try {
      const body = await readBody(exchange, head, {
        bodyBytesMax,
        budget,
        namespace,
        reserves: 'received',
        onBytes,
      });
      if (body instanceof Uint8Array) budget.free(namespace, body.length);
      return body;
    } finally {
      budget.leave(exchange, namespace);
    }
  }
}
