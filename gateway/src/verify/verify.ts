import { startVerifying } from '@standin/signatures';
import type { ConfigStore } from '../config/config-store.ts';
import { GONE, noRoom, readBody } from '../receive/read-body.ts';
import type { AuthenticatedBySignature } from '../request/accepted.ts';
import type { Exchange } from '../request/exchange.ts';
import { Refusal, retryLater } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import type { Route } from '../request/route.ts';
import type { GatewaySettings } from '../settings.ts';
import { INVALID_SIGNATURE } from '../authenticate/authenticate.ts';
import type { UnauthenticatedBudget } from './unauthenticated-budget.ts';

export const NO_SECRETS = retryLater('not_ready', {
  detail: 'Try again shortly. The gateway is waiting for the operator to send the secrets of the endpoint.',
});

export interface VerifyOptions {
  readonly settings: { readonly limits: Pick<GatewaySettings['limits'], 'requestBodyBytes'> };
  readonly config: Pick<ConfigStore, 'secretValues'>;
  readonly unauthenticated: UnauthenticatedBudget;
}

/**
 * Authenticates a request without a key by its signature. Its body is needed to verify it, so it is read before anything is known about
 * the sender, within limits of its own, so that such requests do not take the place of requests with a key. Reads no body if the head is
 * sufficient to refuse the request. The bytes are no longer reserved when the promise resolves.
 */
export const verify = async (
  exchange: Exchange,
  head: RequestHead,
  { account: { namespace }, endpoint: { credential } }: Route,
  { settings, config, unauthenticated: budget }: VerifyOptions,
): Promise<AuthenticatedBySignature | Refusal | typeof GONE> => {
  if (credential === undefined || credential.secretIds.length === 0) return INVALID_SIGNATURE;
  const secrets = config.secretValues(credential);
  if (secrets === undefined) return NO_SECRETS;
  const { headers, headerBytes } = head;
  // `revoked` checks later whether the endpoint still has these secrets.
  const verifier = startVerifying(credential.signature, { headers, nowMs: exchange.receivedAtUs / 1_000 }, secrets);
  if ('reason' in verifier) return INVALID_SIGNATURE;
  using room = budget.enter(exchange, namespace, headerBytes);
  if (room === undefined) return noRoom(budget);
  const body = await readBody(exchange, head, {
    bodyBytesMax: settings.limits.requestBodyBytes,
    budget,
    memory: room.memory,
    reserves: 'received',
    onBytes: verifier.update,
  });
  if (body instanceof Refusal || body === GONE) return body;
  const verified = verifier.finish();
  if (!verified.ok) return INVALID_SIGNATURE;
  const secretId = credential.secretIds[verified.secretIndex] ?? '';
  return { kind: 'signature', secretId, deliveryId: verified.deliveryId ?? '', body };
};
