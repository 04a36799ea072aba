import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import {
  ackQuerySchema,
  ackSchema,
  compareRevisions,
  drainedReportSchema,
  claimedIdentitySchema,
  featuresQuery,
  formatRevision,
  identityQuestionSchema,
  parseRevision,
  permitRequestSchema,
  refusalReportSchema,
  settledReportSchema,
  SourceError,
  STREAM_CLIENT_NAME,
  STREAM_DASHBOARD_NAME,
  type ClaimedIdentity,
  type IdentityAnswer,
  type NotLeader,
  type Settled,
  usageReportSchema,
} from '@standin/contract';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { GatewayController } from '../gateways/gateway-controller.ts';
import type { GatewaySettlement } from '../gateways/settlement.ts';
import type { QuotaController } from '../quota/quota-controller.ts';
import type { RefusalGatherer } from '../refusals/gather-refusals.ts';
import type { ServerCertificate } from './certificates.ts';
import type { ConfigLog } from './config-log.ts';
import { sendConfig } from './send-config.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    isForDashboard?: boolean;
  }
}

/** The parts of the leader that serve gateways. A replica that does not lead (a follower) has no publication. */
export interface Publication {
  readonly log: ConfigLog;
  readonly gateways: Pick<GatewayController, 'connected' | 'stored' | 'ack' | 'goodbye' | 'isConnected'>;
  /** Grants permits from quotas. */
  readonly quota: Pick<QuotaController, 'request' | 'report' | 'drained'>;
  readonly refusals: Pick<RefusalGatherer, 'gather' | 'report'>;
  readonly settlement: Pick<GatewaySettlement, 'complete' | 'report'>;
  /** Returns whether the object with this kind, namespace and name has this identity. */
  readonly holdsIdentity: (claimed: ClaimedIdentity) => boolean;
}

export interface StreamServerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: ServerCertificate;
  readonly logger: Logger;
  /** Maximum number of open connections. Default: `CONNECTIONS_MAX`. */
  readonly connectionsMax?: number;
}

/**
 * A gateway usually has two connections, and at most 16. The limit is enough for 1,500 gateways and the drain Jobs. A connection
 * takes about 50 kB of memory.
 */
const CONNECTIONS_MAX = 4_096;
/** The share of connections that may be in a handshake. The rest is for clients with a certificate. */
const HANDSHAKING_PART = 1 / 4;

/** Time limit for a handshake. Any client that reaches the port may open a connection, but a certificate must follow soon. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
const TLS = {
  ...({ requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' } as const),
  handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
};
/**
 * Enough for 1,000 rejected objects, each with a message of 1,000 characters, with worst-case escaping, and for 10,000 projects and as
 * many namespaces.
 */
const ACK_BYTES_MAX = 8 * 1024 * 1024;
/** Time limit for a request's head and body. Responses, such as streams, have no limit. */
const REQUEST_TIMEOUT_MS = 30_000;

const NAME_LENGTH_MAX = 253;
/** The longest time that a timer supports, rounded down. */
const MAX_STALENESS_MS_MAX = 2_000_000_000;
/** Names appear in conditions, and are stored in the ConfigMap of known gateways, where spaces and line breaks are separators. */
const gatewayName = z
  .string()
  .max(NAME_LENGTH_MAX)
  .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII characters without spaces');
const instanceQuery = z.object({ instance: z.string().min(1).max(64) });
const goodbyeQuery = instanceQuery.extend({ undelivered: z.literal('true').optional() });
const projectQuery = claimedIdentitySchema.omit({ kind: true });
/** Marks the routes that only the dashboard's certificate may use. It may use no others. */
const FOR_DASHBOARD = { isForDashboard: true };
const streamQuery = instanceQuery.extend({
  gateway: gatewayName,
  maxStalenessMs: z.coerce.number().int().min(0).max(MAX_STALENESS_MS_MAX).default(0),
  features: featuresQuery,
});

/**
 * The operator's end of the config stream (contract/config-stream.ts). It uses HTTPS and accepts only clients with a gateway
 * certificate. It always listens. `publication` decides whether it responds as leader or names the leader.
 */
export class StreamServer {
  /** The leader's URL, which a follower returns to clients. Undefined if unknown. */
  leaderUrl: string | undefined;
  readonly #app: FastifyInstance;
  readonly #logger: Logger;
  readonly #streams = new Set<ServerResponse>();
  #publication: Publication | undefined;

  private constructor(app: FastifyInstance, logger: Logger) {
    this.#app = app;
    this.#logger = logger;
  }

  static async listen(options: StreamServerOptions): Promise<StreamServer> {
    const { host, port, certificate, logger, connectionsMax = CONNECTIONS_MAX } = options;
    const app = Fastify({
      https: { ...certificate, ...TLS },
      bodyLimit: ACK_BYTES_MAX,
      requestTimeout: REQUEST_TIMEOUT_MS,
      routerOptions: { maxParamLength: NAME_LENGTH_MAX },
      forceCloseConnections: true,
    });
    const server = new StreamServer(app, logger);
    server.#addRoutes();
    server.#addDashboardRoutes();
    app.server.maxConnections = connectionsMax;
    app.server.on('drop', () => logger.warn({ connectionsMax }, 'gateway connection refused, too many connections'));
    boundHandshakes(app.server, Math.ceil(connectionsMax * HANDSHAKING_PART));
    await app.listen({ host, port });
    return server;
  }

  get port(): number {
    return (this.#app.server.address() as AddressInfo).port;
  }

  lead(publication: Publication): void {
    this.#publication = publication;
  }

  /** Ends all streams. Later responses name the leader. */
  follow(): void {
    this.#publication = undefined;
    for (const stream of this.#streams) stream.destroy();
  }

  /**
   * Uses a new certificate for new connections. Throws if the certificate cannot be used. In that case, the previous certificate
   * stays active.
   */
  setCertificate(certificate: ServerCertificate): void {
    const { server } = this.#app;
    // Options that are missing here revert to Node's defaults.
    if (server instanceof HttpsServer) server.setSecureContext({ ...certificate, minVersion: TLS.minVersion });
  }

  async close(): Promise<void> {
    this.follow();
    await this.#app.close();
  }

  #addRoutes(): void {
    this.#app.addHook('onRequest', async (request, reply) => {
      const { socket } = request.raw;
      const peer = socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : undefined;
      if (peer !== (request.routeOptions.config.isForDashboard === true ? STREAM_DASHBOARD_NAME : STREAM_CLIENT_NAME))
        await reply.code(403).send({ error: 'not_a_gateway' });
      else if (this.#publication === undefined) {
        await reply.code(503).send({ error: 'not_leader', leader: this.leaderUrl ?? null } satisfies NotLeader);
      }
    });
    this.#app.get('/v1/config', (request, reply) => {
      const from = streamQuery.parse(request.query);
      const publication = this.#require();
      reply.hijack();
      this.#stream(publication, from, reply.raw).catch((error: unknown) => {
        this.#logger.warn({ gateway: from.gateway, err: error }, 'config stream failed');
        reply.raw.destroy();
      });
    });
    this.#app.post('/v1/acks', async (request, reply) => {
      const ack = ackSchema.parse(request.body);
      const { features } = ackQuerySchema.parse(request.query);
      const { log, gateways } = this.#require();
      const rejected = [...ack.rejected, ...log.withheldFrom(features)];
      // If the revision was never published, the acknowledgement is from another term, or the gateway is in an invalid state. The
      // response 409 makes the gateway reconnect, and the new snapshot fixes both.
      const isPublished = compareRevisions(parseRevision(ack.revision), log.revision) <= 0;
      await reply.code(isPublished && gateways.ack({ ...ack, rejected }) ? 204 : 409).send();
    });
    this.#app.post('/v1/permits', async (request, reply) => {
      const wanted = permitRequestSchema.parse(request.body);
      const { gateways, quota } = this.#require();
      if (!gateways.isConnected(wanted.gateway, wanted.instance)) await reply.code(409).send();
      else await reply.send(await quota.request(wanted));
    });
    this.#app.post('/v1/usage', async (request, reply) => {
      const report = usageReportSchema.parse(request.body);
      const { gateways, quota } = this.#require();
      const isConnected = gateways.isConnected(report.gateway, report.instance);
      if (isConnected) quota.report(report);
      await reply.code(isConnected ? 204 : 409).send();
    });
    this.#app.post('/v1/refusals', async (request, reply) => {
      const report = refusalReportSchema.parse(request.body);
      const { gateways, refusals } = this.#require();
      const isConnected = gateways.isConnected(report.gateway, report.instance);
      if (isConnected) refusals.report(report);
      await reply.code(isConnected ? 204 : 409).send();
    });
    this.#app.post('/v1/settled', async (request, reply) => {
      const report = settledReportSchema.parse(request.body);
      const { gateways, settlement } = this.#require();
      const isConnected = gateways.isConnected(report.gateway, report.instance);
      if (isConnected) settlement.report(report);
      await reply.code(isConnected ? 204 : 409).send();
    });
    this.#app.post('/v1/drained', async (request, reply) => {
      await this.#require().quota.drained(drainedReportSchema.parse(request.body).instance);
      await reply.code(204).send();
    });
    this.#app.delete('/v1/gateways/:name', async (request: FastifyRequest<{ Params: { name: string } }>, reply) => {
      const { instance, undelivered } = goodbyeQuery.parse(request.query);
      this.#require().gateways.goodbye(request.params.name, instance, undelivered === 'true');
      await reply.code(204).send();
    });
    this.#app.setErrorHandler(async (error, _request, reply) => {
      if (error instanceof z.ZodError) {
        await reply.code(400).send({ error: 'invalid', message: z.prettifyError(error) });
        return;
      }
      if (error instanceof SourceError) {
        await reply.code(429).send({ error: 'busy', message: error.message });
        return;
      }
      const { statusCode = 500, message } = error as { statusCode?: number; message: string };
      if (statusCode < 500) {
        await reply.code(statusCode).send({ error: 'invalid', message });
        return;
      }
      this.#logger.error({ err: error }, 'config stream request failed');
      await reply.code(500).send({ error: 'internal' });
    });
  }

  #addDashboardRoutes(): void {
    this.#app.get('/v1/refusals', { config: FOR_DASHBOARD }, async (request, reply) => {
      const project = projectQuery.parse(request.query);
      const { holdsIdentity, refusals } = this.#require();
      if (holdsIdentity({ kind: 'Project', ...project })) await reply.send(await refusals.gather(project.uid));
      else await reply.code(404).send({ error: 'not_found' });
    });
    this.#app.get('/v1/settled', { config: FOR_DASHBOARD }, async (request, reply) => {
      const project = projectQuery.parse(request.query);
      const { holdsIdentity, settlement } = this.#require();
      if (!holdsIdentity({ kind: 'Project', ...project })) {
        await reply.code(404).send({ error: 'not_found' });
        return;
      }
      const closed = new AbortController();
      reply.raw.on('close', () => closed.abort());
      try {
        await reply.send((await settlement.complete(project, closed.signal)) satisfies Settled);
      } catch (error) {
        if (!closed.signal.aborted) throw error;
      }
    });
    this.#app.post('/v1/identities', { config: FOR_DASHBOARD }, async (request, reply) => {
      const { claimed } = identityQuestionSchema.parse(request.body);
      const { holdsIdentity } = this.#require();
      await reply.send({ held: claimed.map(holdsIdentity) } satisfies IdentityAnswer);
    });
  }

  /**
   * Returns the publication. Throws if the term ended while the body was arriving. If it ended earlier, the hook has already
   * responded.
   */
  #require(): Publication {
    if (this.#publication === undefined) throw new Error('this operator lost leadership while handling the request');
    return this.#publication;
  }

  /** Serves one gateway's stream, from the snapshot to the end of the connection. */
  async #stream(
    { log, gateways }: Publication,
    { gateway, instance, maxStalenessMs, features }: z.infer<typeof streamQuery>,
    response: ServerResponse,
  ): Promise<void> {
    const logger = this.#logger.child({ gateway, instance });
    const cut = (reason: string): void => {
      logger.warn({ reason }, 'gateway disconnected by operator');
      response.destroy();
    };
    this.#streams.add(response);
    const disconnected = gateways.connected({ name: gateway, maxStalenessMs }, instance, () =>
      cut('gateway is silent'),
    );
    logger.info({ revision: formatRevision(log.revision), objects: log.size }, 'gateway connected');
    const settled = new AbortController();
    try {
      // The gateway is stored before it gets the snapshot, because it may then answer callers. If this leader stops, the next
      // leader must know about the gateway.
      await Promise.race([gateways.stored(gateway), once(response, 'close', { signal: settled.signal })]);
      if (!response.destroyed) await sendConfig(log, { response, features });
    } finally {
      settled.abort();
      this.#streams.delete(response);
      disconnected();
      logger.info('gateway disconnected');
    }
  }
}

/** The address and port are the same for a connection's TLS socket and its TCP socket. */
const peerAddress = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/**
 * Ends the oldest handshake when there are too many. A gateway normally completes its handshake before a flood of silent
 * connections can evict it.
 */
const boundHandshakes = (server: Server, max: number): void => {
  const handshaking = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const peer = peerAddress(socket);
    handshaking.set(peer, socket);
    socket.once('close', () => {
      if (handshaking.get(peer) === socket) handshaking.delete(peer);
    });
    if (handshaking.size <= max) return;
    const [oldest] = handshaking;
    if (oldest === undefined) return;
    handshaking.delete(oldest[0]);
    oldest[1].destroy();
  });
  server.on('secureConnection', (socket: TLSSocket) => handshaking.delete(peerAddress(socket)));
};
