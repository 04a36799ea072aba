import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import {
  ackSchema,
  formatRevision,
  LIMITS,
  STREAM_CLIENT_NAME,
  type NotLeader,
  type StreamMessage,
} from '@standin/contract';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ConfigLog } from './config-log.ts';
import type { GatewayRegistry } from './gateway-registry.ts';
import type { ServerCertificate } from './certificates.ts';

/** What the leader serves; a follower has none. */
export interface Publication {
  readonly log: ConfigLog;
  readonly gateways: GatewayRegistry;
}

export interface StreamServerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: ServerCertificate;
  readonly logger: Logger;
}

/** A gateway that reads more slowly than this behind is cut off; it comes back for a snapshot. */
const BACKLOG_CHARS_MAX = 64 * 1024 * 1024;

const streamQuery = z.object({ gateway: z.string().min(1).max(253), instance: z.string().min(1).max(64) });
const goodbyeQuery = z.object({ instance: z.string().min(1).max(64) });

/**
 * The operator's end of the config stream (contract/config-stream.ts): HTTPS that only clients with a gateway's certificate may
 * speak to. It listens all the time; `publication` decides whether it answers as leader or names who leads.
 */
export class StreamServer {
  readonly #app: FastifyInstance;
  readonly #logger: Logger;
  readonly #streams = new Set<ServerResponse>();
  #publication: Publication | undefined;
  #leaderUrl: string | undefined;

  private constructor(app: FastifyInstance, logger: Logger) {
    this.#app = app;
    this.#logger = logger;
  }

  static async listen({ host, port, certificate, logger }: StreamServerOptions): Promise<StreamServer> {
    const app = Fastify({
      https: { ...certificate, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' },
      bodyLimit: 2 * 1024 * 1024,
      forceCloseConnections: true,
    });
    const server = new StreamServer(app, logger);
    server.#addRoutes();
    await app.listen({ host, port });
    return server;
  }

  get port(): number {
    return (this.#app.server.address() as AddressInfo).port;
  }

  lead(publication: Publication): void {
    this.#publication = publication;
  }

  /** Ends all streams; from now on answers name the leader, if it is known. */
  follow(leaderUrl: string | undefined): void {
    this.#publication = undefined;
    this.#leaderUrl = leaderUrl;
    for (const stream of this.#streams) stream.destroy();
  }

  /** New connections get the new certificate. */
  setCertificate(certificate: ServerCertificate): void {
    const { server } = this.#app;
    if (server instanceof HttpsServer) server.setSecureContext(certificate);
  }

  async close(): Promise<void> {
    this.follow(undefined);
    await this.#app.close();
  }

  #addRoutes(): void {
    this.#app.addHook('onRequest', async (request, reply) => {
      const { socket } = request.raw;
      const peer = socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : undefined;
      if (peer !== STREAM_CLIENT_NAME) await reply.code(403).send({ error: 'not_a_gateway' });
      else if (this.#publication === undefined) {
        await reply.code(503).send({ error: 'not_leader', leader: this.#leaderUrl ?? null } satisfies NotLeader);
      }
    });
    this.#app.get('/v1/config', (request, reply) => {
      const { gateway, instance } = streamQuery.parse(request.query);
      reply.hijack();
      this.#stream(gateway, instance, reply.raw).catch((error: unknown) => {
        this.#logger.warn({ gateway, err: error }, 'config stream ended');
        reply.raw.destroy();
      });
    });
    this.#app.post('/v1/acks', async (request, reply) => {
      const ack = ackSchema.parse(request.body);
      const known = this.#require().gateways.ack(ack);
      await reply.code(known ? 204 : 409).send();
    });
    this.#app.delete('/v1/gateways/:name', async (request: FastifyRequest<{ Params: { name: string } }>, reply) => {
      this.#require().gateways.goodbye(request.params.name, goodbyeQuery.parse(request.query).instance);
      await reply.code(204).send();
    });
    this.#app.setErrorHandler(async (error, _request, reply) => {
      if (error instanceof z.ZodError)
        await reply.code(400).send({ error: 'invalid', message: z.prettifyError(error) });
      else {
        this.#logger.error({ err: error }, 'config stream request failed');
        await reply.code(500).send({ error: 'internal' });
      }
    });
  }

  /** The hook has answered where there is none. */
  #require(): Publication {
    if (this.#publication === undefined) throw new Error('this operator stopped leading while it answered');
    return this.#publication;
  }

  /** One gateway's stream, from the snapshot to the end of the connection. */
  async #stream(gateway: string, instance: string, response: ServerResponse): Promise<void> {
    const { log, gateways } = this.#require();
    let backlog = '';
    let wake = (): void => undefined;
    const push = (text: string): void => {
      if (backlog.length + text.length > BACKLOG_CHARS_MAX) {
        this.#logger.warn({ gateway, backlogChars: backlog.length }, 'gateway reads too slowly, closing its stream');
        response.destroy();
      } else backlog += text;
      wake();
    };
    // Everything after this line is a later transaction: nothing can come between the snapshot and the first delta.
    const snapshot = log.snapshot();
    const unfollow = log.follow(({ text }) => push(text));
    const heartbeat = setInterval(() => {
      push(
        `${JSON.stringify({ type: 'heartbeat', revision: formatRevision(log.revision) } satisfies StreamMessage)}\n`,
      );
    }, LIMITS.streamHeartbeatMs);
    response.on('close', () => wake());
    this.#streams.add(response);
    gateways.connected(gateway, instance);
    this.#logger.info({ gateway, revision: formatRevision(log.revision), objects: log.size }, 'gateway connected');
    try {
      response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
      for (const piece of snapshot) await write(response, piece);
      while (!response.destroyed) {
        if (backlog === '') await new Promise<void>((resolve) => (wake = resolve));
        const text = backlog;
        backlog = '';
        await write(response, text);
      }
    } finally {
      clearInterval(heartbeat);
      unfollow();
      this.#streams.delete(response);
      gateways.disconnected(gateway, instance);
      this.#logger.info({ gateway }, 'gateway disconnected');
    }
  }
}

const write = async (response: ServerResponse, text: string): Promise<void> => {
  if (response.destroyed || response.write(text)) return;
  const settled = new AbortController();
  await Promise.race([
    once(response, 'drain', { signal: settled.signal }),
    once(response, 'close', { signal: settled.signal }),
  ]).finally(() => settled.abort());
};
