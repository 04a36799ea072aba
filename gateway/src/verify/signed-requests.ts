import { verify } from '@standin/signatures';
import type { ConfigStore } from '../config/config-store.ts';
import { matchSigned } from '../match/match.ts';
import type { RoutingTable } from '../match/routing-table.ts';
import { GONE, noRoom, readBody } from '../receive/read-body.ts';
import type { AuthenticatedBySignature } from '../request/accepted.ts';
import { ByteBudget } from '../request/byte-budget.ts';
import type { Exchange } from '../request/exchange.ts';
import { Refusal, retryLater } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { Route } from '../request/route.ts';
import type { GatewaySettings } from '../settings.ts';
import { INVALID_SIGNATURE, KEY_MISSING } from '../authenticate/authenticate.ts';

const NO_SECRETS = retryLater('not_ready', {
  detail: 'Try again shortly. The gateway is waiting for the operator to send the secrets of the endpoint.',
});
const TOO_MANY = retryLater('overloaded');
const NOTHING = new Uint8Array(0);

/** A request with a valid signature. The bytes of its head and body are reserved in the budget of authenticated requests. */
export interface SignedRequest {
  readonly authenticated: AuthenticatedBySignature;
  readonly route: Route;
  readonly body: Uint8Array;
}

export interface SignedRequestsOptions {
  readonly config: Pick<ConfigStore, 'endpoint' | 'secretsOf'>;
  /** The budget for authenticated requests. */
  readonly budget: ByteBudget;
  readonly limits: Pick<
    GatewaySettings['limits'],
    'requestBodyBytes' | 'unauthenticatedBytes' | 'unauthenticatedRequests'
  >;
}

/**
 * Authenticates requests without a key by their signature. Their bodies are needed to verify it, so they are read before anything
 * is known about the sender. They have limits of their own, so that they do not take the place of requests with a key.
 */
export class SignedRequests {
  readonly #options: SignedRequestsOptions;
  readonly #unauthenticated: ByteBudget;
  #waiting = 0;

  constructor(options: SignedRequestsOptions) {
    this.#options = options;
    this.#unauthenticated = new ByteBudget(options.limits.unauthenticatedBytes);
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
    const early = this.#verify(exchange, head, { route, body: NOTHING });
    if (early instanceof Refusal) return early;
    const body = await this.#readBody(exchange, head);
    if (body instanceof Refusal || body === GONE) return body;
    const authenticated = this.#verify(exchange, head, { route, body });
    if (authenticated instanceof Refusal) return authenticated;
    if (authenticated === undefined) return INVALID_SIGNATURE;
    const { budget } = this.#options;
    if (!budget.takeForBody(head.headerBytes + body.length)) return noRoom(budget);
    exchange.headerBytes = head.headerBytes;
    return { authenticated, route, body };
  }

  /**
   * Verifies the signature with the secrets that the endpoint has now. Returns undefined if the digest is wrong, which may be due to
   * the body. The other refusals do not depend on the body.
   */
  #verify(
    { receivedAtUs }: Exchange,
    { headers }: RequestHead,
    { route, body }: Pick<SignedRequest, 'route' | 'body'>,
  ): AuthenticatedBySignature | Refusal | undefined {
    const { config } = this.#options;
    const credential = config.endpoint(route.endpoint.config.uid)?.credential;
    if (credential === undefined || credential.secretIds.length === 0) return INVALID_SIGNATURE;
    const secrets = config.secretsOf(credential);
    if (secrets === undefined) return NO_SECRETS;
    const verified = verify(credential.signature, { headers, body, nowMs: receivedAtUs / 1_000 }, secrets);
    if (!verified.ok) return verified.reason === 'mismatch' ? undefined : INVALID_SIGNATURE;
    const secretId = credential.secretIds[verified.secretIndex] ?? '';
    return { kind: 'signature', secretId, deliveryId: verified.deliveryId ?? '' };
  }

  /** Reads the body within the limits for unauthenticated requests. Its bytes are no longer reserved when the promise resolves. */
  async #readBody(exchange: Exchange, head: RequestHead): Promise<Uint8Array | Refusal | typeof GONE> {
    const { requestBodyBytes: bodyBytesMax, unauthenticatedRequests } = this.#options.limits;
    const budget = this.#unauthenticated;
    if (this.#waiting >= unauthenticatedRequests) return TOO_MANY;
    if (!budget.takeForBody(head.headerBytes)) return noRoom(budget);
    this.#waiting++;
    try {
      const body = await readBody(exchange, head, { bodyBytesMax, budget, reserves: 'received' });
      if (body instanceof Uint8Array) budget.freeBody(body.length);
      return body;
    } finally {
      this.#waiting--;
      budget.freeBody(head.headerBytes);
    }
  }
}
