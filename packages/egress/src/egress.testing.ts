import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach } from 'vitest';
import { createEgress, type Egress, type EgressOptions, type UpstreamRequest } from './egress.ts';
import { startRawUpstream, type RawUpstream, type Script } from './raw-upstream.testing.ts';

const cleanups: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Registers a function that runs after the test. */
export const cleanUp = (cleanup: () => PromiseLike<unknown>): void => void cleanups.push(cleanup);

/** Creates an egress that by default can reach the test's own upstreams. */
export const egressWith = (options: Partial<EgressOptions> = {}): Egress => {
  const egress = createEgress({ policy: { allowPrivate: true, allow: [] }, ...options });
  cleanUp(() => egress.close());
  return egress;
};

export const upstreamWith = async (script: Script | string): Promise<RawUpstream> => {
  const upstream = await startRawUpstream(script);
  cleanUp(() => upstream[Symbol.asyncDispose]());
  return upstream;
};

export const get = (port: number, more: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  url: `http://127.0.0.1:${port}/a`,
  method: 'GET',
  headers: [],
  body: undefined,
  timeoutMs: 5_000,
  viaService: false,
  ...more,
});

/**
 * Sends a request and waits until its connection is idle. undici reuses a connection only one turn of the event loop after its
 * response.
 */
export const askAndIdle = async (
  egress: Egress,
  upstream: RawUpstream,
  more: Partial<UpstreamRequest> = {},
): Promise<void> => {
  await buffer((await egress.request(get(upstream.port, more))).body);
  await nextTurn();
  await nextTurn();
};

export const rawResponse = (body: string, head = '') =>
  `HTTP/1.1 200 OK\r\n${head}content-length: ${body.length}\r\n\r\n${body}`;

/** Returns options with which an egress resolves every name to these addresses. */
export const resolving = (...ips: string[]) => {
  const addresses = ips.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return {
    lookup: () => Promise.resolve(addresses),
    lookupService: () => Promise.resolve({ isAlias: false, addresses }),
  };
};
