import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { LIMITS } from '@standin/contract';
import { encodeRow, openLogStore, type LogStore } from '@standin/logstore';
import type { Browser } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import {
  createPerson,
  signIn,
  startClusterDashboard,
  type ClusterDashboard,
  type Person,
} from '../e2e/cluster-dashboard.ts';
import { openPage, startBrowser } from '../harness/browser.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

/** Torture test 43: the memory and CPU time that any client can make a dashboard use, with bodies, streams and pages. */

let cluster: Cluster;
let clickHouse: TestClickHouse;
let store: LogStore;
let dashboard: ClusterDashboard;
let browser: Browser;
let namespace: string;
let editor: Person;
let viewer: Person;

const FLOOD_BYTES = 200_000_000;
const FLOODED = ['/login', '/preferences', '/login.data', '/preferences.data', '/LOGIN/', '/login?index'];
const MIB = 1024 * 1024;
/**
 * The maximum growth of the dashboard's memory during a flood. The chart gives the process 768 MiB. During a flood of 1.2 GB, data
 * that Node has not collected yet takes tens of MiB.
 */
const GROWTH_MIB_MAX = 80;
/**
 * The maximum growth with incomplete bodies, which the dashboard holds in memory. It is several times the dashboard's limit for
 * their total size.
 */
const HELD_GROWTH_MIB_MAX = 150;
const HEALTH_MS_MAX = 2_000;

beforeAll(async () => {
  [cluster, clickHouse, browser] = await Promise.all([sharedCluster(), startClickHouse(), startBrowser()]);
  store = openLogStore(clickHouse);
  await store.migrate();
  namespace = await createNamespace(cluster);
  const object = (kind: string, name: string, spec: object): object => ({
    apiVersion: 'standin.dev/v1alpha1',
    kind,
    metadata: { name, namespace },
    spec,
  });
  const items = [
    object('Account', 'team', { plan: 'Free' }),
    object('Project', 'shop', { displayName: 'Shop', accountRef: { name: 'team' } }),
  ];
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  [dashboard, editor, viewer] = await Promise.all([
    startClusterDashboard({ cluster, clickHouse }),
    createPerson(cluster, namespace, { name: 'editor', role: 'standin-edit' }),
    createPerson(cluster, namespace, { name: 'viewer', role: 'standin-view' }),
  ]);
  // The measurement excludes the memory for the first pages of a process.
  for (const path of ['/login', '/projects', '/no/such/page'])
    await ask(path, { headers: { accept: 'text/html', ...as(viewer) } });
  for (const path of ['/login', '/login.data', '/preferences'])
    await ask(path, { method: 'POST', headers: { accept: 'text/html' }, body: 'a'.repeat(MIB) });
  // The measurement also excludes V8's young generation, which grows with the first bodies.
  await Promise.all(FLOODED.map((path) => flood({ path, isChunked: false }, FLOOD_BYTES / 10)));
});
afterAll(async () => {
  await browser.close();
  await dashboard.process.kill();
  await store.close();
  await clickHouse.stop();
  await deleteNamespace(cluster, namespace);
});

const as = ({ token }: Person): Record<string, string> => ({ authorization: `Bearer ${token}` });

interface AskOptions {
  readonly method?: 'GET' | 'POST' | 'HEAD';
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const ask = async (path: string, { method = 'GET', headers = {}, body }: AskOptions = {}) => {
  const own = { origin: dashboard.url, 'content-type': 'application/x-www-form-urlencoded', ...headers };
  const answer = await request(`${dashboard.url}${path}`, {
    method,
    headers: own,
    ...(body !== undefined && { body }),
  });
  return { status: answer.statusCode, headers: answer.headers, body: await answer.body.text() };
};

const memoryMib = (): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${dashboard.process.pid}/status`, 'utf8'))?.[1]) / 1_024;
/** Resets the peak memory (proc(5)), so that the next reading covers only the time after the reset. */
const forgetPeak = (): void => writeFileSync(`/proc/${dashboard.process.pid}/clear_refs`, '5');

const TICK_MS = 10;
const cpuMs = (): number => {
  const [, fields = ''] = readFileSync(`/proc/${dashboard.process.pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * TICK_MS;
};

/** Requests /healthz until `work` is done. Resolves with the longest response time in milliseconds. */
const healthWhile = async (work: Promise<unknown>): Promise<number> => {
  let longest = 0;
  for (const done = new Set<unknown>(); done.size === 0;) {
    const startedAt = performance.now();
    expect((await ask('/healthz')).status).toBe(200);
    longest = Math.max(longest, performance.now() - startedAt);
    await Promise.race([work.then(() => done.add(work)), new Promise(setImmediate)]);
  }
  return longest;
};

interface Flood {
  readonly method?: string;
  readonly path: string;
  readonly isChunked: boolean;
  readonly headers?: Record<string, string>;
}

const open = ({ method = 'POST', path, isChunked, headers = {} }: Flood, bytes: number): Socket => {
  const socket = connect(Number(new URL(dashboard.url).port), '127.0.0.1');
  const all = {
    host: new URL(dashboard.url).host,
    origin: dashboard.url,
    'content-type': 'application/x-www-form-urlencoded',
    ...(isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(bytes) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return socket;
};

/**
 * Resolves at the next event. Unlike `once` of node:events, it does not reject on an error, because the server may cut the
 * connection.
 */
const next = (socket: Socket, event: 'close' | 'data' | 'drain'): Promise<void> =>
  new Promise((resolve) => void socket.once(event, () => resolve()));

const PART = Buffer.alloc(64 * 1024, 'a');
const CHUNK = Buffer.concat([Buffer.from(`${PART.length.toString(16)}\r\n`), PART, Buffer.from('\r\n')]);

/**
 * Sends a body, by default of 200 MB, as fast as the server reads it. Stops early if the server closes the connection. Resolves
 * with the status of the response.
 */
const flood = async (options: Flood, bytes = FLOOD_BYTES): Promise<number> => {
  const socket = open(options, bytes);
  let received = '';
  socket.on('data', (data) => (received += data.toString('latin1'))).on('error', () => undefined);
  const closed = next(socket, 'close');
  const part = options.isChunked ? CHUNK : PART;
  for (let sent = 0; sent < bytes && !socket.destroyed; sent += PART.length)
    if (!socket.write(part)) await Promise.race([next(socket, 'drain'), closed]);
  if (options.isChunked && !socket.destroyed) socket.write('0\r\n\r\n');
  while (!received.startsWith('HTTP/1.1') && !socket.destroyed) await Promise.race([next(socket, 'data'), closed]);
  socket.destroy();
  return Number(received.slice(9, 12));
};

beforeEach(forgetPeak);

/** Sends bodies one byte at a time. Resolves with the milliseconds after which the dashboard closed each connection. */
const drip = (): Promise<readonly number[]> => {
  const paths = ['/login', '/preferences', '/no/such/page', '/healthz', '/api/v1/projects', '/projects/new'];
  const startedAt = performance.now();
  const ended = paths.flatMap((path) =>
    [false, true].map(async (isChunked) => {
      const socket = open({ path, isChunked, headers: as(editor) }, MIB);
      socket.on('error', () => undefined).resume();
      const bytes = setInterval(() => socket.write(isChunked ? '1\r\na\r\n' : 'a'), 500);
      await next(socket, 'close');
      clearInterval(bytes);
      return performance.now() - startedAt;
    }),
  );
  return Promise.all(ended);
};
let dripping: ReturnType<typeof drip> | undefined;
// The dashboard aborts these bodies after 30 seconds. Other tests run in the meantime.
beforeAll(() => {
  dripping = drip();
});

describe('a body of 200 MB without a session', { timeout: 120_000 }, () => {
  test.each([
    ['with its length', false],
    ['in chunks', true],
  ])('%s takes no memory on several connections at once and does not block other requests', async (_, isChunked) => {
    const before = memoryMib();
    const floods = Promise.all(FLOODED.map((path) => flood({ path, isChunked })));
    expect(await healthWhile(floods)).toBeLessThan(HEALTH_MS_MAX);
    expect(await floods).toEqual(FLOODED.map(() => 413));
    expect(memoryMib() - before).toBeLessThan(GROWTH_MIB_MAX);
  });

  test.each<[string, string, number]>([
    ['GET', '/login', 200],
    ['GET', '/healthz', 200],
    ['POST', '/healthz', 405],
    ['POST', '/logout', 302],
    ['POST', '/login/oidc', 405],
    ['POST', '/no/such/page', 405],
    ['POST', '/p/a/b/endpoints/new', 401],
    ['PUT', '/login', 413],
    ['DELETE', '/preferences', 413],
    ['PATCH', '/projects/new', 401],
    ['POST', '/s/abc', 405],
    ['POST', '/events', 405],
    ['POST', '/api/v1/projects', 405],
  ])('takes no memory in %s %s', async (method, path, status) => {
    const before = memoryMib();
    for (const isChunked of [false, true]) expect(await flood({ method, path, isChunked })).toBe(status);
    expect(memoryMib() - before).toBeLessThan(GROWTH_MIB_MAX);
  });

  test('is rejected immediately if its length is known', async () => {
    const socket = open({ path: '/login', isChunked: false }, FLOOD_BYTES);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });
});

describe("a signed-in user's form", { timeout: 120_000 }, () => {
  const post = (path: string, form: Record<string, string>) =>
    ask(path, {
      method: 'POST',
      headers: { accept: 'text/html', ...as(editor) },
      body: new URLSearchParams(form).toString(),
    });

  test('that is too large gets a page that names the limit', async () => {
    const { status, body } = await post('/projects/new', { 'spec.displayName': 'a'.repeat(MIB) });
    expect(status).toBe(413);
    expect(body).toContain('The form is too large');
    expect(body).toContain('It is larger than 1 MiB. Shorten it and submit it again.');
  });

  test('shows the error on its own page', async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, `${dashboard.url}/projects/new`, editor);
    await page.getByLabel('Name', { exact: true }).fill('a'.repeat(MIB));
    await page.getByLabel('Name', { exact: true }).press('Enter');
    await page.getByText('It is larger than 1 MiB. Shorten it and submit it again.').waitFor();
    await close();
  });

  test('accepts the largest valid endpoint', async () => {
    // In the form, each byte of the body is percent-encoded and takes three bytes.
    const body = `"${'€'.repeat((LIMITS.mockBodyBytesMax - 2) / 3)}"`;
    const headers = Array.from({ length: LIMITS.mockHeadersMax }, (_, index) => [
      [`spec.json.headers[${index}].name`, `x-${index}`],
      [`spec.json.headers[${index}].value`, '%'.repeat(LIMITS.headerValueLengthMax)],
    ]).flat();
    const form = {
      'spec.displayName': 'Large',
      'spec.slug': '/large',
      'spec.method': 'GET',
      'spec.action': 'JSON',
      'spec.json.body': body,
      ...(Object.fromEntries(headers) as Record<string, string>),
    };
    const { status } = await post(`/p/${namespace}/shop/endpoints/new`, form);
    expect(status).toBe(302);
    const { stdout } = await cluster.kubectl([
      'get',
      'mep',
      'large',
      '-n',
      namespace,
      '-o',
      'jsonpath={.spec.json.body}',
    ]);
    expect(stdout).toBe(body);
  });
});

describe('live update streams', { timeout: 120_000 }, () => {
  const COUNT = 20;
  const REFUSAL = `Live updates are paused because you have ${COUNT} live pages open. Close some of them.`;
  /** Returns the first event of a new stream. Then closes the stream, unless the caller has passed a `signal` to close it. */
  const firstChunk = async (headers: Record<string, string>, signal?: AbortSignal): Promise<string> => {
    const leave = new AbortController();
    const url = `${dashboard.url}/events?namespace=${namespace}`;
    const { body } = await fetch(url, { headers, signal: signal ?? leave.signal });
    const first = await body?.getReader().read();
    leave.abort();
    return Buffer.from((first?.value as Uint8Array | undefined) ?? []).toString();
  };
  /** Opens streams until one is rejected. Returns the number of open streams. */
  const takeAll = async (headers: Record<string, string>, signal: AbortSignal): Promise<number> => {
    for (let count = 0; ; count += 1) {
      const first = await firstChunk(headers, signal);
      if (!first.startsWith('retry:')) {
        expect(first).toBe(`event: refused\ndata: ${JSON.stringify({ message: REFUSAL })}\n\n`);
        return count;
      }
    }
  };

  test('are limited per user, and closing one allows another', async () => {
    const leave = new AbortController();
    expect(await takeAll(as(viewer), leave.signal)).toBe(COUNT);
    expect(await firstChunk(as(editor))).toMatch(/^retry:/);
    leave.abort();
    await expect.poll(() => firstChunk(as(viewer)), { timeout: 20_000 }).toMatch(/^retry:/);
  });

  test('that are rejected show a message on the page', async () => {
    const { page, context, close } = await openPage(browser);
    await signIn(page, `${dashboard.url}/projects`, viewer);
    const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
    const leave = new AbortController();
    await takeAll({ cookie }, leave.signal);
    await page.goto(`${dashboard.url}/p/${namespace}/shop/traffic`);
    await takeAll({ cookie }, leave.signal);
    await page.reload();
    await page.getByText(REFUSAL).first().waitFor();
    leave.abort();
    await close();
  });

  test('are not opened by HEAD or by a data request', async () => {
    for (let count = 0; count <= COUNT; count += 1)
      expect((await ask('/events', { method: 'HEAD', headers: as(viewer) })).status).toBe(200);
    for (let count = 0; count <= COUNT; count += 1)
      expect((await ask('/events.data', { headers: as(viewer) })).status).toBe(406);
    await expect.poll(() => firstChunk(as(viewer)), { timeout: 20_000 }).toMatch(/^retry:/);
  });
});

describe('Remix', { timeout: 120_000 }, () => {
  /** The maximum CPU time of the process for one request. Wall-clock time would include other work of the machine. */
  const CPU_MS_MAX = 1_500;

  test('does not list routes for every part of a path (CVE-2026-55685)', async () => {
    const { body: login } = await ask('/login', { headers: { accept: 'text/html' } });
    const version = /version\W+([0-9a-f]{8})/.exec(login)?.[1] ?? '';
    const before = cpuMs();
    const { status } = await ask(`/__manifest?version=${version}&p=${'/a'.repeat(3_700)}`);
    expect(status).toBe(404);
    expect(cpuMs() - before).toBeLessThan(CPU_MS_MAX);
  });

  test('does not serialize a deeply nested captured body (CVE-2026-34077)', async () => {
    const { stdout: projectUid } = await cluster.kubectl([
      'get',
      'mpr',
      'shop',
      '-n',
      namespace,
      '-o',
      'jsonpath={.metadata.uid}',
    ]);
    const nested = Buffer.from(`${'{"a":['.repeat(40_000)}${']}'.repeat(40_000)}`);
    const head = Array.from({ length: 13_000 }, () => ['a', 'b'] as const);
    const json = [['content-type', 'application/json']] as const;
    const row = newLogRow({
      namespace,
      project: 'shop',
      projectUid,
      endpoint: 'large',
      requestHeaders: json,
      requestBody: nested,
      responseHeaders: [...json, ...head],
      responseBody: nested,
    });
    await store.insert({ rows: encodeRow(row), rowCount: 1, token: row.id });
    const page = `/p/${namespace}/shop/traffic/${row.id}`;
    for (const path of [page, `${page}.data`, `${page}/replay.data`, `${page}/mock.data`]) {
      const before = cpuMs();
      const { status } = await ask(path, { headers: { accept: 'text/html', ...as(viewer) } });
      expect(status, path).toBe(200);
      expect(cpuMs() - before, path).toBeLessThan(CPU_MS_MAX);
    }
  });
});

describe('incomplete bodies', { timeout: 120_000 }, () => {
  test('are aborted after 30 seconds on any path', async () => {
    // The tests before, during which they arrive, check the response time of /healthz.
    const ended = dripping ?? drip();
    dripping = undefined;
    expect(Math.max(...(await ended))).toBeLessThan(LIMITS.requestTimeoutMs + 15_000);
  });

  test('are held up to a total size, above which clients get 503', async () => {
    const before = memoryMib();
    const path = '/projects/new';
    let answers = '';
    const sockets = Array.from({ length: 40 }, () => open({ path, isChunked: false, headers: as(editor) }, MIB));
    for (const socket of sockets) {
      socket.on('error', () => undefined).on('data', (data) => (answers += data.toString()));
      socket.write(Buffer.alloc(MIB - 1, 'a'));
    }
    await expect.poll(() => answers, { timeout: 25_000 }).toContain('Too many forms are being submitted');
    expect(answers).toMatch(/^HTTP\/1\.1 503 /);
    expect(memoryMib() - before).toBeLessThan(HELD_GROWTH_MIB_MAX);
    for (const socket of sockets) socket.destroy();
    const submit = () => ask(path, { method: 'POST', headers: as(editor), body: 'a'.repeat(MIB) });
    await expect.poll(async () => (await submit()).status, { timeout: 20_000 }).toBe(422);
  });
});
