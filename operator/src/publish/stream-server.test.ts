import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import {
  configKey,
  formatRevision,
  STREAM_SERVER_NAME,
  type ConfigObject,
  type GatheredRefusals,
  type RefusalReport,
  type SettledReport,
  type UsageReport,
} from '@standin/contract';
import { systemClock } from '@standin/kube';
import { pino } from 'pino';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { GatewayController } from '../gateways/gateway-controller.ts';
import { planCertificates, serverCertificate, type Certificates } from './certificates.ts';
import { ConfigLog } from './config-log.ts';
import { StreamServer, type Publication } from './stream-server.ts';

let certificates: Certificates;
let server: StreamServer;
let publication: Publication;
let gateways: GatewayController;
let reports: UsageReport[];
let refusalReports: RefusalReport[];
let settledReports: SettledReport[];
const GATHERED: GatheredRefusals = { counts: [], omitted: 1, unknownProject: 2, missing: ['gateway-1'] };
/** The gateway memory waits for this promise before each write. */
let storing: Promise<void>;
const open = new Set<{ destroy(): void }>();

const logger = pino({ level: 'silent' });
const account = (uid: string): ConfigObject => ({
  kind: 'Account',
  uid,
  namespace: 'default',
  name: uid,
  plan: 'Free',
});

beforeAll(async () => {
  certificates = await planCertificates(undefined, new Date());
});
const listen = async (options: { connectionsMax?: number } = {}): Promise<void> => {
  const certificate = serverCertificate(certificates);
  server = await StreamServer.listen({ host: '127.0.0.1', port: 0, certificate, logger, ...options });
};
beforeEach(async () => {
  await listen();
  reports = [];
  refusalReports = [];
  settledReports = [];
  storing = Promise.resolve();
  gateways = new GatewayController({
    epoch: 1,
    forgetMs: 1_000,
    since: (key) => publication.log.since(key),
    onChange: () => undefined,
    logger,
    revision: () => publication.log.revision.number,
    memory: { read: () => Promise.resolve([]), write: () => storing },
    isGone: () => Promise.resolve(true),
  });
  publication = {
    log: new ConfigLog(1),
    gateways,
    refusals: { gather: () => Promise.resolve(GATHERED), report: (report) => refusalReports.push(report) },
    settlement: {
      complete: ({ uid }) => Promise.resolve({ settled: false, reasons: [`gateway a, asked about ${uid}`] }),
      report: (report) => settledReports.push(report),
    },
    holdsIdentity: ({ uid }) => uid === 'u',
    quota: {
      report: (report) => reports.push(report),
      drained: (instance) =>
        instance === 'uncountable' ? Promise.reject(new Error('unavailable')) : Promise.resolve(),
      request: (wanted) =>
        Promise.resolve({ kind: 'granted', block: `${wanted.gateway}-1`, period: '2026-11', permits: wanted.want }),
    },
  };
});
afterEach(async () => {
  for (const socket of open) socket.destroy();
  open.clear();
  await gateways.stop();
  await server.close();
});

const call = async (method: string, path: string, options: RequestOptions & { body?: unknown } = {}) => {
  const { body, ...rest } = options;
  const client = request({
    host: '127.0.0.1',
    port: server.port,
    path,
    method,
    agent: false,
    ca: certificates.caBundle,
    ...certificates.gateway,
    servername: STREAM_SERVER_NAME,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    ...rest,
  });
  open.add(client);
  client.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  return response;
};

const json = async (response: IncomingMessage): Promise<unknown> =>
  JSON.parse((await buffer(response)).toString()) as unknown;

/** Reads the messages of a stream one by one. */
const follow = async (gateway: string, instance: string = randomUUID(), more = '') => {
  const response = await call('GET', `/v1/config?gateway=${gateway}&instance=${instance}${more}`);
  const lines = createInterface({ input: response })[Symbol.asyncIterator]();
  return { response, next: async () => JSON.parse((await lines.next()).value ?? 'null') as Record<string, unknown> };
};

test('a gateway gets the snapshot, then each delta', async () => {
  publication.log.append({ put: [account('a')], remove: [] });
  server.lead(publication);
  const { next } = await follow('gateway-0');
  expect([await next(), await next(), await next()]).toEqual([
    { type: 'begin', revision: '1.1', snapshot: true },
    { type: 'put', object: account('a') },
    { type: 'commit', revision: '1.1' },
  ]);
  publication.log.append({ put: [], remove: ['Account/a'] });
  expect([await next(), await next(), await next()]).toEqual([
    { type: 'begin', revision: '1.2', snapshot: false },
    { type: 'remove', key: 'Account/a' },
    { type: 'commit', revision: '1.2' },
  ]);
});

test.each([
  ['that lacks a feature gets a placeholder', 'other', 'rejected'],
  ['that has the features gets the endpoint', 'path-parameters,other', 'programmed'],
])('a gateway %s', async (_name, features, state) => {
  const uid = 'orders';
  const endpoint: ConfigObject = {
    kind: 'Endpoint',
    uid,
    namespace: 'default',
    name: uid,
    projectUid: 'p',
    generation: 1,
    method: 'GET',
    slug: '/v1/{id}',
    action: { kind: 'JSON', status: 200, headers: [], body: '{}' },
  };
  const log = new ConfigLog(1, undefined, { 'path-parameters': ({ slug }) => slug.includes('{') });
  publication = { ...publication, log };
  log.append({ put: [endpoint], remove: [] });
  server.lead(publication);
  const { next } = await follow('gateway-0', 'i', `&features=${features}`);
  await next();
  const action = state === 'rejected' ? { kind: 'Withheld' } : endpoint.action;
  expect(await next()).toEqual({ type: 'put', object: { ...endpoint, action } });
  const body = { gateway: 'gateway-0', instance: 'i', revision: '1.1', rejected: [] };
  await call('POST', `/v1/acks?features=${features}`, { body });
  const message = 'its version of Standin does not support path-parameters: update the gateway';
  expect(gateways.programmed(configKey(endpoint))).toEqual(
    state === 'rejected' ? { kind: 'rejected', gateway: 'gateway-0', message } : { kind: 'programmed' },
  );
});

test('a gateway receives nothing before it is stored for the next leader', async () => {
  const written = Promise.withResolvers<undefined>();
  storing = written.promise.then(() => undefined);
  server.lead(publication);
  let hasResponded = false;
  const streaming = follow('gateway-0', 'i').then((stream) => {
    hasResponded = true;
    return stream;
  });
  await expect.poll(() => gateways.isConnected('gateway-0', 'i')).toBe(true);
  await delay(100);
  expect(hasResponded).toBe(false);
  written.resolve(undefined);
  const { next } = await streaming;
  expect(await next()).toMatchObject({ type: 'begin', snapshot: true });
});

test('a gateway that disconnects before it is stored is no longer connected', async () => {
  const written = Promise.withResolvers<undefined>();
  storing = written.promise.then(() => undefined);
  server.lead(publication);
  const client = call('GET', '/v1/config?gateway=gateway-0&instance=i');
  client.catch(() => undefined);
  await expect.poll(() => gateways.isConnected('gateway-0', 'i')).toBe(true);
  for (const socket of open) socket.destroy();
  await expect.poll(() => gateways.isConnected('gateway-0', 'i')).toBe(false);
  written.resolve(undefined);
});

test('an idle stream carries heartbeats with the time', { timeout: 10_000 }, async () => {
  server.lead(publication);
  const { next } = await follow('gateway-0');
  await next();
  await next();
  const beforeMs = systemClock.now();
  const heartbeat = await next();
  expect(heartbeat).toEqual({ type: 'heartbeat', revision: '1.0', sentMs: expect.any(Number) as number });
  const { sentMs } = heartbeat as { sentMs: number };
  expect(sentMs).toBeGreaterThan(beforeMs);
  expect(sentMs).toBeLessThanOrEqual(systemClock.now());
});

test('acknowledgements and goodbye messages are recorded', async () => {
  server.lead(publication);
  await follow('gateway-0', 'i');
  const ack = { gateway: 'gateway-0', instance: 'i', revision: '1.0', rejected: [] };
  expect((await call('POST', '/v1/acks', { body: ack })).statusCode).toBe(204);
  expect(gateways.known).toHaveLength(1);
  expect((await call('DELETE', '/v1/gateways/gateway-0?instance=i')).statusCode).toBe(204);
  expect(gateways.known).toHaveLength(0);
});

test('a gateway name of the maximum length is accepted', async () => {
  server.lead(publication);
  const gateway = 'n'.repeat(253);
  await follow(gateway, 'i');
  await call('POST', '/v1/acks', { body: { gateway, instance: 'i', revision: '1.0', rejected: [] } });
  expect(gateways.known).toHaveLength(1);
  expect((await call('DELETE', `/v1/gateways/${gateway}?instance=i`)).statusCode).toBe(204);
  expect(gateways.known).toHaveLength(0);
});

test('gateways with a stream get permits, and invalid requests are rejected', async () => {
  server.lead(publication);
  await follow('gateway-0', 'i');
  const body = { gateway: 'gateway-0', instance: 'i', account: 'a', serial: 1, want: 7, held: [], closed: [] };
  const answer = await call('POST', '/v1/permits', { body });
  expect(answer.statusCode).toBe(200);
  expect(await json(answer)).toEqual({ kind: 'granted', block: 'gateway-0-1', period: '2026-11', permits: 7 });
  expect((await call('POST', '/v1/permits', { body: { ...body, instance: 'other' } })).statusCode).toBe(409);
  expect((await call('POST', '/v1/permits', { body: { ...body, want: -1 } })).statusCode).toBe(400);
});

test('usage reports are accepted from gateways with a stream', async () => {
  server.lead(publication);
  await follow('gateway-0', 'i');
  const accounts = [{ account: 'a', blocks: [{ block: 'b', used: 3 }] }];
  const body = { gateway: 'gateway-0', instance: 'i', accounts };
  expect((await call('POST', '/v1/usage', { body })).statusCode).toBe(204);
  expect((await call('POST', '/v1/usage', { body: { ...body, instance: 'other' } })).statusCode).toBe(409);
  expect(reports).toEqual([body]);
});

test('the permits of a drained process are settled, or the request fails', async () => {
  server.lead(publication);
  expect((await call('POST', '/v1/drained', { body: { instance: 'i' } })).statusCode).toBe(204);
  expect((await call('POST', '/v1/drained', { body: { instance: 'uncountable' } })).statusCode).toBe(500);
  expect((await call('POST', '/v1/drained', { body: {} })).statusCode).toBe(400);
});

test('announcements reach every stream, between transactions', async () => {
  server.lead(publication);
  const streams = [await follow('gateway-0'), await follow('gateway-1')];
  for (const { next } of streams) {
    await next();
    await next();
  }
  publication.log.announce({ type: 'recall', account: 'a' });
  for (const { next } of streams) expect(await next()).toEqual({ type: 'recall', account: 'a' });
});

test.each([
  ['from another term', { revision: '9.0' }, 409],
  ['for a revision that was never published', { revision: '1.99' }, 409],
  ['from a gateway without a stream', { instance: 'other' }, 409],
  ['that is incomplete', { instance: undefined }, 400],
  ['that is too large', { rejected: [{ key: 'k'.repeat(9_000_000), message: '' }] }, 413],
])('an acknowledgement %s is rejected', async (_what, change, status) => {
  server.lead(publication);
  await follow('gateway-0', 'i');
  const body = { gateway: 'gateway-0', instance: 'i', revision: '1.0', rejected: [], ...change };
  expect((await call('POST', '/v1/acks', { body })).statusCode).toBe(status);
  expect(gateways.known).toEqual([]);
});

test.each(['', 'a b', 'a%0Ab', 'n'.repeat(254), 'n%C3%A4me'])(
  'a gateway named %j does not get a stream',
  async (name) => {
    server.lead(publication);
    expect((await call('GET', `/v1/config?gateway=${name.replace(' ', '%20')}&instance=i`)).statusCode).toBe(400);
  },
);

test(
  'a gateway that reads slowly gets the last state of each object, in one transaction',
  { timeout: 20_000 },
  async () => {
    server.lead(publication);
    const { response, next } = await follow('slow');
    await next();
    response.pause();
    const large = (name: string, count: number) => ({ ...account(name), name: `${count}${'n'.repeat(1_000_000)}` });
    // These transactions do not fit in the sockets' buffers.
    for (let count = 0; count < 200; count += 1)
      publication.log.append({ put: [large('a', count)], remove: count % 2 === 0 ? [] : ['Account/b'] });
    publication.log.append({ put: [large('b', 200)], remove: [] });
    response.resume();
    const last = formatRevision(publication.log.revision);
    const counts = new Map<string, number>();
    for (;;) {
      const message = await next();
      const type = String(message['type']);
      counts.set(type, (counts.get(type) ?? 0) + 1);
      if (type === 'commit' && message['revision'] === last) break;
    }
    // The end of the snapshot, and one transaction.
    expect(Object.fromEntries(counts)).toMatchObject({ begin: 1, put: 2, commit: 2 });
  },
);

test('a leader that stops leading ends its streams', async () => {
  server.lead(publication);
  const { response, next } = await follow('gateway-0');
  await next();
  server.follow();
  await expect(once(response.resume(), 'end')).rejects.toThrow('aborted');
});

test('a client without a gateway certificate does not get a response', async () => {
  server.lead(publication);
  const path = '/v1/config?gateway=g&instance=i';
  await expect(call('GET', path, { cert: undefined, key: undefined })).rejects.toThrow();
  const stranger = await planCertificates(undefined, new Date());
  await expect(call('GET', path, { ...stranger.gateway })).rejects.toThrow();
  // The operator's own certificate is only valid for servers.
  await expect(call('GET', path, { ...certificates.operator })).rejects.toThrow();
});

test('new connections use a changed certificate with TLS 1.3 only, and ignore an unusable certificate', async () => {
  server.lead(publication);
  const renewed = await planCertificates(undefined, new Date());
  server.setCertificate(serverCertificate(renewed));
  const { ca, gateway } = { ca: renewed.caBundle, gateway: renewed.gateway };
  expect((await call('DELETE', '/v1/gateways/g?instance=i', { ca, ...gateway })).statusCode).toBe(204);
  await expect(call('GET', '/', { ca, ...gateway, maxVersion: 'TLSv1.2' })).rejects.toThrow();
  expect(() => server.setCertificate({ ...serverCertificate(renewed), key: certificates.operator.key })).toThrow();
  expect((await call('DELETE', '/v1/gateways/g?instance=i', { ca, ...gateway })).statusCode).toBe(204);
});

test('connections during the handshake do not displace gateways, and leave room for new ones', async () => {
  await server.close();
  await listen({ connectionsMax: 8 });
  server.lead(publication);
  const { next } = await follow('gateway-0');
  await next();
  await next();
  let closedCount = 0;
  const silent = Array.from({ length: 40 }, () => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
    open.add(socket);
    return socket.on('close', () => (closedCount += 1));
  });
  await expect.poll(() => closedCount).toBe(silent.length - 2);
  const other = await follow('gateway-1');
  expect(await other.next()).toMatchObject({ type: 'begin', snapshot: true });
  publication.log.append({ put: [account('a')], remove: [] });
  expect(await next()).toMatchObject({ type: 'begin', revision: '1.1' });
});

test('connections with a certificate are also limited, and existing ones stay open', async () => {
  await server.close();
  await listen({ connectionsMax: 4 });
  server.lead(publication);
  const streams = [];
  for (const gateway of ['a', 'b', 'c', 'd']) streams.push(await follow(gateway));
  await expect(follow('e')).rejects.toThrow();
  for (const { next } of streams) expect(await next()).toMatchObject({ type: 'begin', snapshot: true });
  streams[0]?.response.destroy();
  await expect.poll(() => follow('e').catch(() => undefined)).toBeDefined();
});

test('a report of refused requests counts only from a connected gateway', async () => {
  server.lead(publication);
  const body = {
    gateway: 'gateway-0',
    instance: 'i',
    ask: 'a',
    refusals: { counts: [], omitted: 0, unknownProject: 0 },
  };
  expect((await call('POST', '/v1/refusals', { body })).statusCode).toBe(409);
  const { next } = await follow('gateway-0', 'i');
  await next();
  expect((await call('POST', '/v1/refusals', { body })).statusCode).toBe(204);
  expect(refusalReports).toEqual([body]);
});

test('the refused requests of an identity that no project has are not read', async () => {
  server.lead(publication);
  const answer = await call('GET', '/v1/refusals?namespace=a&name=shop&uid=other', { ...certificates.dashboard });
  expect([answer.statusCode, await json(answer)]).toEqual([404, { error: 'not_found' }]);
});

test('a report of settled logs counts only from a connected gateway', async () => {
  server.lead(publication);
  const project = { ask: 'a', project: 'u', untilUs: 1, hasQuarantine: false };
  const body = { gateway: 'gateway-0', instance: 'i', sentUs: 2, settled: [project] };
  expect((await call('POST', '/v1/settled', { body })).statusCode).toBe(409);
  const { next } = await follow('gateway-0', 'i');
  await next();
  expect((await call('POST', '/v1/settled', { body })).statusCode).toBe(204);
  expect(settledReports).toEqual([body]);
});

test('the certificate of the dashboard only asks questions', async () => {
  server.lead(publication);
  const asDashboard = { ...certificates.dashboard };
  const read = await call('GET', '/v1/refusals?namespace=a&name=shop&uid=u', asDashboard);
  expect([read.statusCode, await json(read)]).toEqual([200, GATHERED]);
  const claimed = ['u', 'other'].map((uid) => ({ kind: 'Project', namespace: 'a', name: 'shop', uid }));
  const identities = await call('POST', '/v1/identities', { ...asDashboard, body: { claimed } });
  expect([identities.statusCode, await json(identities)]).toEqual([200, { held: [true, false] }]);
  const settled = await call('GET', '/v1/settled?namespace=a&name=shop&uid=u', asDashboard);
  expect([settled.statusCode, await json(settled)]).toEqual([
    200,
    { settled: false, reasons: ['gateway a, asked about u'] },
  ]);
  const other = await call('GET', '/v1/settled?namespace=a&name=shop&uid=other', asDashboard);
  expect([other.statusCode, await json(other)]).toEqual([404, { error: 'not_found' }]);
  const paths = [
    ['GET', '/v1/config?gateway=g&instance=i'],
    ['POST', '/v1/acks'],
    ['POST', '/v1/permits'],
    ['POST', '/v1/refusals'],
    ['POST', '/v1/settled'],
    ['DELETE', '/v1/gateways/gateway-0?instance=i'],
    ['GET', '/v1/unknown'],
  ] as const;
  for (const [method, path] of paths) expect((await call(method, path, asDashboard)).statusCode).toBe(403);
  expect((await call('GET', '/v1/refusals?namespace=a&name=shop&uid=u')).statusCode).toBe(403);
  expect((await call('GET', '/v1/settled?namespace=a&name=shop&uid=u')).statusCode).toBe(403);
  expect((await call('POST', '/v1/identities', { body: { claimed } })).statusCode).toBe(403);
});
