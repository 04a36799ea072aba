import type { AddressInfo } from 'node:net';
import { isRebound, listenUrl } from '@standin/contract';
import Fastify from 'fastify';
import type { Registry } from 'prom-client';

export interface AdminServerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly registry: Registry;
  /** Returns the reasons why the process is not ready now, or an empty list if it is ready. */
  readonly notReadyBecause: () => readonly string[];
}

export interface AdminServer {
  /** Without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves `/metrics`, `/healthz` (the process responds) and `/readyz` on a separate port, so that the port for callers does not
 * expose them.
 */
export const listenAdmin = async (options: AdminServerOptions): Promise<AdminServer> => {
  const { host, port, registry, notReadyBecause } = options;
  const app = Fastify({ logger: false, forceCloseConnections: true });
  // On loopback, a website must not be able to read the metrics through the browser of a user on this machine (DNS rebinding).
  app.addHook('onRequest', (request, reply, done) => {
    if (isRebound(host, request.headers.host)) void reply.code(421).send('This port answers on localhost only.\n');
    else done();
  });
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
  app.get('/healthz', () => ({ healthy: true }));
  app.get('/readyz', async (_request, reply) => {
    const reasons = notReadyBecause();
    return reply.code(reasons.length === 0 ? 200 : 503).send({ ready: reasons.length === 0, reasons });
  });
  await app.listen({ host, port });
  const { port: ownPort } = app.server.address() as AddressInfo;
  return { url: listenUrl('http', host, ownPort), close: () => app.close() };
};
