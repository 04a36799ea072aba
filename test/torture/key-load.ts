import { Pool } from 'undici';
import type { DeployedGateway } from '../harness/deployment.ts';
import { isLongRun } from './oracle.ts';

/** Requests per second to each gateway. */
const RATE = isLongRun() ? 200 : 40;

export interface Sent {
  readonly gateway: number;
  /** The time at which the request was sent, by `performance.now()`. */
  readonly at: number;
  readonly status: number;
}

export interface KeyLoad extends AsyncDisposable {
  /** Stops the load. Resolves with all requests when the last one has ended. Rejects if a request got no response. */
  stop(): Promise<readonly Sent[]>;
}

/** Sends requests with one key to all gateways at a constant rate, regardless of response times. */
export const startKeyLoad = (gateways: readonly DeployedGateway[], path: string, key: string): KeyLoad => {
  const sent: Sent[] = [];
  const failures: unknown[] = [];
  const open = new Set<Promise<unknown>>();
  const pools = gateways.map(({ url }) => new Pool(url));
  const send = async (pool: Pool, index: number): Promise<void> => {
    const at = performance.now();
    const headers = { 'x-api-key': key };
    const { statusCode, body } = await pool.request({ method: 'POST', path, headers, body: '{}' });
    await body.dump();
    sent.push({ gateway: index, at, status: statusCode });
  };
  const timer = setInterval(() => {
    for (const [index, pool] of pools.entries()) {
      const one: Promise<unknown> = send(pool, index)
        .catch((error: unknown) => failures.push(error))
        .finally(() => open.delete(one));
      open.add(one);
    }
  }, 1_000 / RATE);
  const end = async (): Promise<void> => {
    clearInterval(timer);
    await Promise.all(open);
    await Promise.all(pools.splice(0).map((pool) => pool.close()));
  };
  return {
    stop: async () => {
      await end();
      if (failures.length > 0) throw new AggregateError(failures, 'some requests got no response');
      return sent;
    },
    [Symbol.asyncDispose]: end,
  };
};

/**
 * Returns whether requests were accepted before `completedAt`, the time at which the regeneration was Completed. Also returns the
 * requests that were accepted from then on, and the number of gateways that received requests from then on.
 */
export const acceptedAfter = (sent: readonly Sent[], completedAt: number) => ({
  before: sent.some(({ at, status }) => at < completedAt && status === 200),
  after: sent.filter(({ at, status }) => at >= completedAt && status === 200),
  tried: new Set(sent.filter(({ at }) => at >= completedAt).map((one) => one.gateway)).size,
});
