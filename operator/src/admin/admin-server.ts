import type { AddressInfo } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';

export interface AdminServerOptions {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
}

/** /metrics, /healthz (the process responds) and /readyz (the sources have been read once). */
export class AdminServer {
  readonly #app: FastifyInstance;
  #ready = false;

  private constructor(app: FastifyInstance) {
    this.#app = app;
  }

  static async listen({ host, port, registry }: AdminServerOptions): Promise<AdminServer> {
    const app = Fastify({ forceCloseConnections: true });
    const server = new AdminServer(app);
    app.get('/healthz', () => 'ok\n');
    app.get('/readyz', async (_request, reply) => {
      await reply.code(server.#ready ? 200 : 503).send(server.#ready ? 'ok\n' : 'the sources were not read yet\n');
    });
    app.get('/metrics', async (_request, reply) => {
      await reply.type(registry.contentType).send(await registry.metrics());
    });
    await app.listen({ host, port });
    return server;
  }

  get url(): string {
    const { address, port } = this.#app.server.address() as AddressInfo;
    return urlOf('http', address, port);
  }

  setReady(): void {
    this.#ready = true;
  }

  async close(): Promise<void> {
    await this.#app.close();
  }
}

/** IPv6 addresses are in brackets. */
export const urlOf = (scheme: 'http' | 'https', host: string, port: number): string =>
  `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
