import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  ackSchema,
  configKey,
  drainedReportSchema,
  formatRevision,
  permitRequestSchema,
  type Ack,
  type ConfigKey,
  type ConfigObject,
  type NotLeader,
  type PermitAnswer,
  type PermitRequest,
  type RefusalReport,
  type SettledReport,
  settledReportSchema,
  refusalReportSchema,
  type UsageReport,
  usageReportSchema,
  type StreamMessage,
} from '@standin/contract';
import type { StreamCertificates } from './stream-certificates.testing.ts';

const secretMessage = ([id, value]: readonly [id: string, value: string]) =>
  ({ type: 'secret', id, value: Buffer.from(value).toString('base64') }) as const;

/** A scripted operator that serves its end of the config stream over mutual TLS on a free port. */
export class FakeOperator {
  readonly acks: Ack[] = [];
  readonly goodbyes: string[] = [];
  /** Called for each goodbye message, before the response. */
  onGoodbye: () => void = () => undefined;
  readonly permitRequests: PermitRequest[] = [];
  readonly usageReports: UsageReport[] = [];
  readonly refusalReports: RefusalReport[] = [];
  readonly settledReports: SettledReport[] = [];
  /** The ids of gateway processes that were reported as drained. */
  readonly drained: string[] = [];
  /** Returns the response to a permit request. Undefined causes an error response. */
  permits: (request: PermitRequest) => PermitAnswer | undefined | Promise<undefined> = () => undefined;
  /** The URL that gateways receive while this operator does not lead. */
  leaderUrl: string | null = null;
  leads = true;
  /** The number of requests that this operator refused because it was not leading. */
  refusals = 0;
  /** If false, acknowledgements are received but get no response. */
  respondsToAcks = true;
  /** The query of the last stream request. */
  query = new URLSearchParams();
  /** The number of streams opened so far. */
  streamsOpened = 0;
  epoch = 1;
  readonly port: number;
  readonly #server: Server;
  readonly #objects = new Map<ConfigKey, ConfigObject>();
  /** The values of secrets by their id. */
  readonly #secrets = new Map<string, string>();
  readonly #streams = new Set<ServerResponse>();
  readonly #events = new EventEmitter();
  #number = 0;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async listen({ ca, server: pair }: StreamCertificates, port = 0): Promise<FakeOperator> {
    const server = createServer({ ca, ...pair, requestCert: true, rejectUnauthorized: true });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const operator = new FakeOperator(server, (server.address() as AddressInfo).port);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void operator.#respond(request, response);
    });
    return operator;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get revision(): string {
    return formatRevision({ epoch: this.epoch, number: this.#number });
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Sends a transaction. `secrets` are values of secrets by their id, and `forgets` are ids. Resolves with its acknowledgement. */
  async publish(
    puts: readonly ConfigObject[],
    removes: readonly ConfigKey[] = [],
    secrets: Readonly<Record<string, string>> = {},
    forgets: readonly string[] = [],
  ): Promise<Ack> {
    for (const object of puts) this.#objects.set(configKey(object), object);
    for (const key of removes) this.#objects.delete(key);
    for (const [id, value] of Object.entries(secrets)) this.#secrets.set(id, value);
    for (const id of forgets) this.#secrets.delete(id);
    this.#number++;
    const { revision } = this;
    this.send(
      { type: 'begin', revision, snapshot: false },
      ...puts.map((object) => ({ type: 'put', object }) as const),
      ...removes.map((key) => ({ type: 'remove', key }) as const),
      ...Object.entries(secrets).map(secretMessage),
      ...forgets.map((id) => ({ type: 'forget', id }) as const),
      { type: 'commit', revision },
    );
    return this.acked(revision);
  }

  /** Sends messages, whether valid or not. */
  send(...messages: readonly (StreamMessage | object)[]): void {
    for (const stream of this.#streams)
      stream.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  }

  async acked(revision: string): Promise<Ack> {
    for (;;) {
      const ack = this.acks.find((one) => one.revision === revision);
      if (ack !== undefined) return ack;
      await once(this.#events, 'ack');
    }
  }

  cutStreams(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  /** Cuts all connections, both streams and other requests. */
  cutConnections(): void {
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://operator');
    if (!this.leads) {
      this.refusals++;
      response.writeHead(503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'not_leader', leader: this.leaderUrl } satisfies NotLeader));
    } else if (request.method === 'GET' && pathname === '/v1/config') {
      this.query = searchParams;
      this.#stream(response);
    } else if (pathname === '/v1/permits') {
      await this.#grant(request, response);
    } else if (pathname === '/v1/usage') {
      const chunks = (await request.toArray()) as Buffer[];
      this.usageReports.push(usageReportSchema.parse(JSON.parse(Buffer.concat(chunks).toString())));
      response.writeHead(204).end();
    } else if (pathname === '/v1/refusals') {
      const chunks = (await request.toArray()) as Buffer[];
      this.refusalReports.push(refusalReportSchema.parse(JSON.parse(Buffer.concat(chunks).toString())));
      response.writeHead(204).end();
    } else if (pathname === '/v1/settled') {
      const chunks = (await request.toArray()) as Buffer[];
      this.settledReports.push(settledReportSchema.parse(JSON.parse(Buffer.concat(chunks).toString())));
      response.writeHead(204).end();
    } else if (pathname === '/v1/drained') {
      const chunks = (await request.toArray()) as Buffer[];
      this.drained.push(drainedReportSchema.parse(JSON.parse(Buffer.concat(chunks).toString())).instance);
      response.writeHead(204).end();
    } else if (request.method === 'POST') {
      const chunks = (await request.toArray()) as Buffer[];
      this.acks.push(ackSchema.parse(JSON.parse(Buffer.concat(chunks).toString())));
      if (this.respondsToAcks) response.writeHead(204).end();
      this.#events.emit('ack');
    } else {
      this.onGoodbye();
      const end = searchParams.has('undelivered') ? ' with undelivered requests' : '';
      this.goodbyes.push(`${pathname} ${searchParams.get('instance') ?? ''}${end}`);
      response.writeHead(204).end();
    }
  }

  async #grant(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = (await request.toArray()) as Buffer[];
    const wanted = permitRequestSchema.parse(JSON.parse(Buffer.concat(chunks).toString()));
    this.permitRequests.push(wanted);
    const answer = await this.permits(wanted);
    response.writeHead(answer === undefined ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  }

  #stream(response: ServerResponse): void {
    this.#streams.add(response);
    this.streamsOpened++;
    response.on('close', () => this.#streams.delete(response));
    const { revision } = this;
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    const messages: StreamMessage[] = [
      { type: 'begin', revision, snapshot: true },
      ...[...this.#objects.values()].map((object) => ({ type: 'put', object }) as const),
      ...[...this.#secrets].map(secretMessage),
      { type: 'commit', revision },
    ];
    response.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  }
}
