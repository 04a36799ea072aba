import type { AddressInfo } from 'node:net';
import { isRebound } from '@standin/contract';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';

export interface AdminServerOptions {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  /** Reasons why the gateway should get no traffic now; empty if it should. */
  readonly notReadyBecause: () => readonly string[];
}

/** Serves `/metrics`, `/healthz` and `/readyz` on a separate port that callers do not reach. */
export const listenAdmin = async (options: AdminServerOptions): Promise<{ app: FastifyInstance; port: number }> => {
  const { host, port, registry, notReadyBecause } = options;
  const app = Fastify({ logger: false, forceCloseConnections: true });
  // On loopback, another website must not read what a user of this machine does.
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
  return { app, port: (app.server.address() as AddressInfo).port };
};
