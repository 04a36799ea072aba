import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { LogRow } from '@standin/contract';
import { encodeRow, type LogStore } from '@standin/logstore';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newLogRow } from '../../packages/exchange/src/log-row.testing.ts';
import { startDashboard, type DashboardRun } from '../e2e/dashboard-stand.ts';
import { openDevLog } from '../e2e/traffic-page.ts';
import { eventually } from '../harness/eventually.ts';

/**
 * Torture test 40: share links that are guessed, expired, revoked or rejected, or whose request is gone, and secrets in each part
 * of a request.
 */

let run: DashboardRun;
let store: LogStore;
let uids: ReadonlyMap<string, string>;

const FREE =
  'apiVersion: standin.dev/v1alpha1\nkind: Account\nmetadata: {name: free}\nspec: {plan: Free}\n---\n' +
  'apiVersion: standin.dev/v1alpha1\nkind: Project\nmetadata: {name: free}\nspec: {accountRef: {name: free}}\n';

const projectList = z.object({ items: z.array(z.object({ name: z.string(), uid: z.string() })) });

const readProjects = async () => {
  const { body } = await request(`${run.dashboard}/api/v1/projects`);
  return projectList.parse(await body.json());
};

beforeAll(async () => {
  run = await startDashboard();
  await writeFile(path.join(run.manifests, 'free.yaml'), FREE);
  store = await openDevLog(run.data);
  const { items } = await eventually('both projects', readProjects, {
    accept: (list) => list.items.length === 2,
  });
  uids = new Map(items.map(({ name, uid }) => [name, uid]));
});
afterAll(async () => {
  await store.close();
  await run.process.kill();
});

/** Inserts a row as if it had been captured. Returns its id. */
const capture = async (changes: Partial<LogRow> = {}, project = 'shop'): Promise<string> => {
  const row = newLogRow({ project, projectUid: uids.get(project) ?? '', ...changes });
  const rows = encodeRow(row);
  await store.insert({ rows, rowCount: 1, token: createHash('sha256').update(rows).digest('hex') });
  return row.id;
};

interface Link {
  readonly name: string;
  readonly url: string;
}

/** Writes a Share without the dashboard, into the folder in which `standin dev` stores Shares. Returns its link. */
const writeShare = async (name: string, spec: object): Promise<string> => {
  const token = randomBytes(32).toString('base64url');
  const tokenSha256 = createHash('sha256').update(token).digest('hex');
  const manifest = {
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Share',
    metadata: { name, namespace: 'default' },
    spec: { projectRef: { name: 'shop' }, tokenSha256, expiresAt: inSeconds(3_600), ...spec },
  };
  await writeFile(path.join(run.data, 'operations', `${name}.yaml`), JSON.stringify(manifest));
  return `${run.dashboard}/s/${token}`;
};

let links = 0;
/** Creates a link to this captured request. Without `redact`, the default rules apply. */
const share = async (requestId: string, redact?: object): Promise<Link> => {
  const name = `link-${(links += 1)}`;
  return { name, url: await writeShare(name, { requestId, ...(redact !== undefined && { redact }) }) };
};

const revoke = async (name: string): Promise<void> => {
  const { statusCode, body } = await request(`${run.dashboard}/p/default/shop/settings/shares`, {
    method: 'POST',
    headers: { origin: run.dashboard, 'content-type': 'application/x-www-form-urlencoded' },
    body: `share=${name}`,
  });
  await body.dump();
  expect(statusCode).toBe(302);
};

const inSeconds = (seconds: number): string =>
  new Date(Date.now() + seconds * 1_000).toISOString().replace(/\.\d+Z$/, 'Z');

interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  readonly ms: number;
}

const open = async (url: string): Promise<Seen> => {
  const startedAt = performance.now();
  const { statusCode, headers, body } = await request(url);
  const text = await body.text();
  return {
    status: statusCode,
    headers: { ...headers, date: undefined },
    body: text,
    ms: performance.now() - startedAt,
  };
};
const opens = (url: string): Promise<Seen> =>
  eventually('the link to work', () => open(url), { accept: ({ status }) => status === 200 });
const showsNothing = (url: string): Promise<Seen> =>
  eventually('the link to show nothing', () => open(url), { accept: ({ status }) => status === 404 });

describe('40: a share link', () => {
  test('that shows nothing gets the same response after the same delay, whatever the reason', async () => {
    const guessed = await open(`${run.dashboard}/s/${randomBytes(32).toString('base64url')}`);
    const malformed = await open(`${run.dashboard}/s/..%2f..%2fprojects`);

    const expiring = await writeShare('expiring', { requestId: await capture(), expiresAt: inSeconds(5) });
    const leaving = await share(await capture({ expiresAtS: Math.floor(Date.now() / 1_000) + 5 }));
    const revoked = await share(await capture());
    const removed = await writeShare('removed', { requestId: await capture() });
    for (const url of [expiring, leaving.url, revoked.url, removed]) await opens(url);
    await revoke(revoked.name);
    const refused = await writeShare('refused', {
      projectRef: { name: 'free' },
      requestId: await capture({}, 'free'),
    });
    const foreign = await writeShare('foreign', { requestId: await capture({}, 'free') });

    const empty = [
      await showsNothing(revoked.url),
      await showsNothing(refused),
      await showsNothing(foreign),
      await showsNothing(expiring),
      await showsNothing(leaving.url),
      malformed,
    ];
    expect(guessed.status).toBe(404);
    for (const { status, headers, body } of empty)
      expect({ status, headers, body }).toEqual({ status: 404, headers: guessed.headers, body: guessed.body });
    // The dashboard sends these responses after at least 250 ms, but timers may fire slightly early.
    for (const { ms } of [guessed, ...empty]) expect(ms).toBeGreaterThan(245);
  });

  test('shows nothing immediately after it is revoked', async () => {
    const { url, name } = await share(await capture());
    await opens(url);
    await revoke(name);
    expect((await open(url)).status).toBe(404);
  });

  test('allows only GET and HEAD and must not be cached', async () => {
    const { url } = await share(await capture());
    const { headers } = await opens(url);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow, noarchive',
      'x-frame-options': 'DENY',
    });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self'/);
    expect(headers).not.toHaveProperty('set-cookie');
    expect(headers).not.toHaveProperty('etag');
    const { statusCode } = await request(url, { method: 'POST', headers: { origin: run.dashboard } });
    expect(statusCode).toBe(405);
    // At this URL, Remix would serve data for scripts, but these pages have no scripts.
    expect((await open(`${url}.data`)).body).toBe((await open(`${run.dashboard}/s/x`)).body);
  });
});

const SECRET = 'correct-horse-9f86d081';
const BASE64 = Buffer.from(`ada:${SECRET}`).toString('base64');
const PERCENT = [...Buffer.from(SECRET)].map((byte) => `%${byte.toString(16)}`).join('');
const ESCAPED = Array.from(SECRET, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
const MULTIPART = `--B\r\nContent-Disposition: form-data; name="password"\r\n\r\n${SECRET}\r\n--B--\r\n`;

const row = (type: string, body: string, more: Partial<LogRow> = {}): Partial<LogRow> => ({
  requestHeaders: [['content-type', type]],
  requestBody: Buffer.from(body),
  ...more,
});

describe('40: a shared page', () => {
  test.each<[string, Partial<LogRow>]>([
    ['in authorization', { requestHeaders: [['Authorization', `Bearer ${SECRET}`]] }],
    ['in basic authorization', { requestHeaders: [['authorization', `Basic ${BASE64}`]] }],
    [
      'in cookies, both ways',
      { requestHeaders: [['cookie', `a=${SECRET}`]], responseHeaders: [['set-cookie', `a=${SECRET}`]] },
    ],
    ['in a signature', { requestHeaders: [['x-hub-signature-256', SECRET]] }],
    [
      'in the query',
      { query: `access_token=${SECRET}&b=${SECRET}`, target: `/u/v1?access_token=${SECRET}&b=${SECRET}` },
    ],
    ['in the query, escaped', { query: `%74oken=${PERCENT}`, target: `/u/v1?%74oken=${PERCENT}` }],
    ['in JSON', row('application/json', `{"user":{"password":"${SECRET}"},"again":"x ${SECRET} y"}`)],
    ['in JSON, escaped', row('application/json', `{"t\\u006fken":"${ESCAPED}"}`)],
    ['in JSON inside JSON', row('application/json', JSON.stringify({ body: JSON.stringify({ secret: SECRET }) }))],
    ['in a form', row('application/x-www-form-urlencoded', `a=1&password=${PERCENT}`)],
    ['in multipart', row('multipart/form-data; boundary=B', MULTIPART)],
    ['in XML', row('text/xml', `<a><Password>${SECRET}</Password></a>`)],
    ['in invalid JSON', row('application/json', `{"a": ${SECRET}`)],
    ['in binary', row('application/octet-stream', '', { requestBody: Buffer.from(`\u0000\u00ff${SECRET}`, 'latin1') })],
    ['in a trailer', { requestTrailers: [['x-secret', SECRET]] }],
    [
      'that the upstream echoes',
      row('application/json', `{"password":"${SECRET}"}`, {
        responseHeaders: [['x-said', PERCENT]],
        responseBody: Buffer.from(`you said ${BASE64} and ${ESCAPED}`),
      }),
    ],
    [
      'in the upstream URL and in errors',
      {
        upstreamUrl: `https://up/?key=${SECRET}`,
        upstreamError: `no ${SECRET}`,
        templateError: `not a number: ${SECRET}`,
      },
    ],
  ])('contains no secret %s', async (_, changes) => {
    const { url } = await share(await capture(changes));
    const { body } = await opens(url);
    for (const form of [SECRET, BASE64, PERCENT, ESCAPED, SECRET.replaceAll('-', '&#45;')])
      expect(body).not.toContain(form);
    expect(body).not.toMatch(/<script/i);
  });

  test('contains neither what a rule of the Share redacts nor the origin of the capture', async () => {
    const { url } = await share(
      await capture({
        ...row('application/json', `{"card":{"number":"${SECRET}"},"b":1}`),
        clientAddress: '198.51.100.7',
        gateway: 'gateway-of-the-cluster',
        upstreamUrl: 'https://internal.example/secret-path',
      }),
      { headers: [], query: [], jsonPaths: ['$.card.number'] },
    );
    const { body } = await opens(url);
    for (const hidden of [SECRET, '198.51.100.7', 'gateway-of-the-cluster', 'internal.example'])
      expect(body).not.toContain(hidden);
  });

  test('shows a captured page as text, without JavaScript, resources or links', async () => {
    const html = '<script>alert(1)</script><img src=x onerror=alert(1)></pre><a href=//evil.example>x</a>';
    const { url } = await share(
      await capture({ responseBody: Buffer.from(html), responseHeaders: [['content-type', 'text/html']] }),
    );
    const { body } = await opens(url);
    expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(body).not.toMatch(/<script|<img|<a /i);
  });
});

describe('40: guessing', () => {
  test('gets 429 with Retry-After above its limit', async () => {
    const guess = (): string => `${run.dashboard}/s/${randomBytes(32).toString('base64url')}`;
    // Earlier tests may have exhausted the limit.
    const answers = [await showsNothing(guess())];
    // The dashboard responds with 503 to more than 64 lookups at once.
    for (let batch = 0; batch < 4; batch++)
      answers.push(...(await Promise.all(Array.from({ length: 50 }, () => open(guess())))));
    const refused = answers.filter(({ status }) => status === 429);
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404, 429]));
  });
});
