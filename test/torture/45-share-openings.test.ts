import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { LogRow } from '@standin/contract';
import { encodeRow, type LogStore } from '@standin/logstore';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openDevLog } from '../e2e/traffic-page.ts';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { SHOP, startDashboard, type DashboardRun } from '../e2e/dashboard-stand.ts';
import { call } from '../e2e/dev-stand.ts';
import { eventually } from '../harness/eventually.ts';
import { watchEventLoop, type EventLoopWatch } from '../harness/watch-event-loop.ts';
import { HOSTILE_BODIES, type HostileBody } from './hostile-bodies.ts';
import { isLongRun } from './oracle.ts';

/**
 * Torture test 45: captured bodies of 10 MiB that are most expensive to read, opened by many clients at once, and on every page.
 */

/** The maximum CPU time for which the event loop may be blocked. */
const BLOCKED_MS_MAX = 100;
const OPENINGS = 20;

let run: DashboardRun;
let store: LogStore;
let watch: EventLoopWatch;
/** The ids of an existing project and endpoint, from a real request. */
let real: Pick<LogRow, 'projectUid' | 'endpoint' | 'endpointUid'>;

const API = '/api/v1/namespaces/default/projects/shop';
const requestList = z.object({
  items: z.array(z.object({ id: z.string(), projectUid: z.string(), endpoint: z.string(), endpointUid: z.string() })),
});

beforeAll(async () => {
  watch = await watchEventLoop();
  const { nodeArgs, env } = watch;
  run = await startDashboard({ nodeArgs, env });
  store = await openDevLog(run.data);
  await call(run, '/v1/orders', { body: '{}' });
  const captured = await eventually(
    'the request in the log',
    async () => {
      const { body } = await request(`${run.dashboard}${API}/requests`);
      return requestList.parse(await body.json()).items;
    },
    { accept: ({ length }) => length > 0 },
  );
  const [{ projectUid, endpoint, endpointUid } = { projectUid: '', endpoint: '', endpointUid: '' }] = captured;
  real = { projectUid, endpoint, endpointUid };
}, 180_000);
afterAll(async () => {
  await store.close();
  await run.process.kill();
});

/** Inserts a row as if it had been captured, with the same body in the request and the response. */
const capture = async ({ headers, bytes }: HostileBody): Promise<LogRow> => {
  const row = newLogRow({
    ...real,
    requestHeaders: headers,
    requestBody: bytes,
    outcome: 'forwarded',
    action: 'Forward',
    responseHeaders: headers,
    responseBody: bytes,
    responseBodyBytes: bytes.length,
  });
  const rows = encodeRow(row);
  await store.insert({ rows, rowCount: 1, token: createHash('sha256').update(rows).digest('hex') });
  return row;
};

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
const shareList = z.object({ items: z.array(z.object({ name: z.string(), state: z.string() })) });
let links = 0;
/** Creates a link. Resolves when the operator has accepted the Share, because an earlier request would count as a guess. */
const share = async (requestId: string): Promise<{ readonly name: string; readonly url: string }> => {
  const name = `link-${(links += 1)}`;
  const token = randomBytes(32).toString('base64url');
  const tokenSha256 = createHash('sha256').update(token).digest('hex');
  const spec = { projectRef: { name: 'shop' }, requestId, tokenSha256, expiresAt: inAnHour() };
  const manifest = {
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Share',
    metadata: { name, namespace: 'default' },
    spec,
  };
  await writeFile(path.join(run.data, 'operations', `${name}.yaml`), JSON.stringify(manifest));
  await eventually(
    'the operator to accept the link',
    async () => shareList.parse(JSON.parse((await get(`${API}/shares`)).text)),
    {
      accept: ({ items }) => items.some((item) => item.name === name && item.state === 'works'),
      timeoutMs: 60_000,
    },
  );
  return { name, url: `/s/${token}` };
};

interface Seen {
  readonly status: number;
  readonly text: string;
}

const get = async (url: string, headers: Record<string, string> = {}): Promise<Seen> => {
  const { statusCode: status, body } = await request(`${run.dashboard}${url}`, { headers });
  return {
    status,
    text: Buffer.from(await body.arrayBuffer())
      .subarray(0, 2_000_000)
      .toString('latin1'),
  };
};
const post = async (url: string, body: string): Promise<number> => {
  const headers = { origin: run.dashboard, 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await request(`${run.dashboard}${url}`, { method: 'POST', headers, body });
  await answer.body.dump();
  return answer.statusCode;
};

/** Returns the longest response time of /healthz while `work` runs, in milliseconds. */
const slowestHealth = async (work: Promise<unknown>): Promise<number> => {
  let isOver = false;
  let slowest = 0;
  const probe = async (): Promise<void> => {
    while (!isOver) {
      const startedAt = performance.now();
      await get('/healthz');
      slowest = Math.max(slowest, performance.now() - startedAt);
    }
  };
  await Promise.all([work.finally(() => (isOver = true)), probe()]);
  return slowest;
};

const revoke = async (name: string): Promise<void> => {
  expect(await post(`${SHOP}/settings/shares`, `share=${name}`)).toBe(302);
};

describe('45: a link that many clients open at once', () => {
  test.each(['many small values', 'members with the names of secrets', 'pairs of a form'])(
    'is redacted once and does not block other requests: %s',
    async (name) => {
      const { id } = await capture(HOSTILE_BODIES[name] as HostileBody);
      const link = await share(id);
      let statuses: number[] = [];
      let slowestMs = 0;
      const blockedMs = await watch.longestDuring(run.process, async () => {
        const open = async (): Promise<number> => (await get(link.url)).status;
        const opening = Promise.all(Array.from({ length: OPENINGS }, open));
        slowestMs = await slowestHealth(opening);
        statuses = await opening;
      });
      console.log(
        `${name}: ${[...new Set(statuses)].join()}, blocked ${blockedMs.toFixed(0)} ms, /healthz at most ${slowestMs.toFixed(0)} ms`,
      );
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(blockedMs).toBeLessThan(BLOCKED_MS_MAX);
      await revoke(link.name);
      expect((await get(link.url)).status).toBe(404);
    },
  );

  test('shows nothing after it is revoked, even during redaction', async () => {
    const { id } = await capture(HOSTILE_BODIES['many small values'] as HostileBody);
    const { name, url } = await share(id);
    const opening = get(url);
    await revoke(name);
    await opening;
    expect((await get(url)).status).toBe(404);
  });
});

/** The long form (npm run torture) opens all bodies, which takes many minutes. The short form opens five of them. */
const OPENED = isLongRun()
  ? Object.keys(HOSTILE_BODIES)
  : ['many small values', 'escaped zeros', 'invalid UTF-8', 'delimiters', 'a compressed body that unfolds'];

describe('45: every page and route that reads a captured body', () => {
  test.each(OPENED)(
    'does not block the event loop: %s',
    async (name) => {
      const { id } = await capture(HOSTILE_BODIES[name] as HostileBody);
      await sendAgain(id, HOSTILE_BODIES[name] as HostileBody);
      const exchange = `${SHOP}/traffic/${id}`;
      const api = `${API}/requests/${id}`;
      const link = await share(id);
      const readers: Readonly<Record<string, () => Promise<unknown>>> = {
        ...Object.fromEntries(
          [
            ...['', '?tab=response', '?tab=raw', '?tab=timing', '?tab=replays', '/mock', '/replay', '/share'],
            ...['raw', 'hex', 'form', 'parts', 'pretty'].map((view) => `?body=${view}`),
            ...['/body?part=request', '/body?part=request&item=0', '/body?part=response&item=999'],
            ...['/copy?as=curl', '/copy?as=fetch', '/copy?as=har', '/file?as=http', '/file?as=har'],
          ].map((url) => [url, () => get(`${exchange}${url}`)]),
        ),
        ...Object.fromEntries(
          [api, `${api}/body`, `${api}/body?part=response`, `${API}/requests?limit=2`].map((url) => [
            url,
            () => get(url),
          ]),
        ),
        data: () => get(`${exchange}.data`),
        ndjson: () => get(`${API}/requests?limit=2`, { accept: 'application/x-ndjson' }),
        wait: () => get(`${API}/requests:wait?count=1&timeout=1s`),
        'the list': () => get(`${SHOP}/traffic?open=${id}`),
        'export as ndjson': () => get(`${SHOP}/traffic/export?format=ndjson&q=id:${id}`),
        'export as har': () => get(`${SHOP}/traffic/export?format=har&q=id:${id}`),
        'preview of a share': () => post(`${exchange}/share`, 'intent=preview'),
        'result of a replay': () => get(`${SHOP}/replays/again/results/${id}`),
        'the link': () => get(link.url),
      };
      const slow: string[] = [];
      for (const [reader, read] of Object.entries(readers)) {
        const blockedMs = await watch.longestDuring(run.process, read);
        if (blockedMs > 50) console.log(`${name} | ${reader} | ${blockedMs.toFixed(0)}`);
        if (blockedMs > BLOCKED_MS_MAX) slow.push(`${reader}: ${blockedMs.toFixed(0)} ms`);
      }
      expect(slow).toEqual([]);
    },
    300_000,
  );

  /** Writes a replay result whose response differs from the captured one only in the last byte. */
  const sendAgain = async (requestId: string, { headers, bytes }: HostileBody): Promise<void> => {
    const responseBody = Buffer.from(bytes);
    responseBody.writeUInt8(0x20, responseBody.length - 1);
    await store.replays.insert(
      [
        {
          projectUid: real.projectUid,
          replayUid: randomBytes(8).toString('hex'),
          requestId,
          requestReceivedAtUs: Date.now() * 1_000,
          sentAtUs: Date.now() * 1_000,
          namespace: 'default',
          project: 'shop',
          replay: 'again',
          expiresAtS: Math.floor(Date.now() / 1_000) + 3_600,
          target: 'Endpoint',
          url: 'http://localhost/',
          method: 'POST',
          sentHeaders: [],
          sentBody: new Uint8Array(),
          edited: false,
          status: 200,
          error: '',
          responseHeaders: headers,
          responseBody,
          responseBodyBytes: responseBody.length,
          responseTruncated: false,
          durationUs: 1_000,
          firstByteUs: 500,
        },
      ],
      () => Infinity,
    );
  };
});
