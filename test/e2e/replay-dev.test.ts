import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { LogEntry } from '@standin/exchange';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { ALL_DAY, DevReplay } from './dev-replays.ts';
import { call, endpoint, readLog, standin, startDev, type DevRun } from './dev-stand.ts';

/** Tests replays with `standin dev`, through `standin replay` and as manifests in its data folder. */

interface Received {
  readonly at: number;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const received: Received[] = [];
let answerStatus: (received: Received) => number = () => 200;
const upstream = createServer((request, response) => {
  void request.toArray().then((chunks) => {
    const { method = '', url = '', headers } = request;
    const body = Buffer.concat(chunks as Buffer[]).toString();
    const seen: Received = { at: performance.now(), method, url, headers, body };
    received.push(seen);
    response.writeHead(answerStatus(seen), { 'x-from': 'upstream' }).end(`got ${body}`);
  });
});
const upstreamUrl = (): string => `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;

let dev: DevRun;
let first: LogEntry;
const COUNT = 24;

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  dev = await startDev();
  const forward = { action: 'Forward', forward: { url: `${upstreamUrl()}/base` } };
  await writeFile(path.join(dev.manifests, 'hook.yaml'), endpoint('hook', forward));
  await eventually('the endpoint', () => call(dev, '/hook'), { accept: ({ status }) => status === 200 });
  for (let n = 0; n < COUNT; n++) await call(dev, `/hook?n=${n}`, { body: `body ${n}` });
  const entries = await eventually('the log', () => readLog(dev.data), {
    accept: (log) => log.filter(({ query }) => query.startsWith('n=')).length === COUNT,
  });
  const found = entries.find(({ query }) => query === 'n=0');
  if (found === undefined) throw new Error('no entry');
  first = found;
});
afterAll(async () => {
  await dev.process.kill('SIGTERM');
  upstream.close();
});

const replay = (...args: string[]) => standin(['replay', '--data', dev.data, ...args]);
/** Returns the numbers of the requests that arrived at this path of the upstream. */
const numbersAt = (at: string): number[] =>
  received.filter(({ url }) => url.startsWith(at)).map(({ url }) => Number(/n=(\d+)/.exec(url)?.[1]));
const ALL = Array.from({ length: COUNT }, (_, n) => n);
const BULK = ['-p', 'shop', '--filter', 'path:/hook query:n= -header.standin-replay-of:*', '--since', '1d'];

describe('standin replay ID', () => {
  test('sends the request through the gateway, prints removed and added headers, and prints the response', async () => {
    const before = received.length;
    const { code, stdout, stderr } = await replay(first.id);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'got body 0' });
    expect(stderr).toContain('to the original endpoint, through the gateway');
    expect(stderr).toContain('- x-api-key: the log contains only a fingerprint of the key');
    expect(stderr).toContain(`+ standin-replay-of: ${first.id}`);
    expect(stderr).toMatch(/200 in .* ms, 10 bytes \(captured: 200, /);
    expect(received.slice(before)).toMatchObject([{ url: '/base?n=0', body: 'body 0' }]);
    const again = await eventually(
      'the row',
      () => readLog(dev.data, '--filter', `header.standin-replay-of:${first.id}`),
      {
        accept: ({ length }) => length === 1,
      },
    );
    expect(again[0]).toMatchObject({ method: 'POST', path: '/hook', query: 'n=0', request: { body: 'body 0' } });
  });

  test('sends an edited request to a URL and omits the API key', async () => {
    const url = `${upstreamUrl()}/elsewhere`;
    const edit = ['--method', 'PUT', '--header', 'x-edited: yes', '--body', 'other', '--path', '/any?edited=1'];
    const { code, stdout } = await replay(first.id, '--to', url, ...edit, '-o', 'json');
    expect(code).toBe(0);
    const seen = received.find(({ url: target }) => target === '/elsewhere?edited=1');
    expect(seen).toMatchObject({ method: 'PUT', body: 'other', headers: { 'x-edited': 'yes' } });
    expect(seen?.headers['x-api-key']).toBeUndefined();
    expect(JSON.parse(stdout)).toMatchObject({
      requestId: first.id,
      target: 'URL',
      method: 'PUT',
      status: 200,
      request: { body: { body: 'other', bodyEncoding: 'utf8' } },
      response: { status: 200, body: 'got other' },
    });
  });

  test('sends the request to its upstream and succeeds with any response status', async () => {
    answerStatus = () => 503;
    const { code, stderr } = await replay(first.id, '--to', 'upstream');
    answerStatus = () => 200;
    expect(code).toBe(0);
    expect(stderr).toContain('503 in ');
    expect(received.at(-1)?.headers['standin-replay-of']).toBe(first.id);
  });

  test('sends nothing with --dry-run', async () => {
    const before = received.length;
    expect((await replay(first.id, '--dry-run')).code).toBe(0);
    expect(received.length).toBe(before);
  });

  test.each([
    ['an unknown id', ['01a1fdee-9ec2-74f7-87c1-527b96bfd44e'], 'there is no request'],
    ['neither id nor project', [], 'pass the id of a request, or select many with --project and --since'],
    ['an edit of many requests', [...BULK, '--body', 'x'], '--body edits a single request'],
    ['a missing confirmation', BULK, 'add --yes to send the requests'],
    [
      'an unknown project',
      ['-p', 'nope', '--since', '1d'],
      'there is no project "nope" in namespace default; available projects: shop',
    ],
  ])('rejects %s', async (_, args, message) => {
    const { code, stderr } = await replay(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  test('exits with code 1 and the reason when the target is unreachable', async () => {
    const { code, stderr } = await replay(first.id, '--to', 'http://127.0.0.1:9/');
    expect(code).toBe(1);
    expect(stderr).toContain('no response: http://127.0.0.1:9 refused the connection.');
  });
});

describe('standin replay with a filter', () => {
  test('shows the plan, then sends the requests in order, no faster than the given rate', async () => {
    const plan = await replay(...BULK, '--to', `${upstreamUrl()}/ordered`, '--dry-run');
    expect(plan.stderr).toContain(`${COUNT} requests to ${upstreamUrl()}/ordered, 10 per second: about 2.4 s`);
    expect(plan.stderr).toContain(`… and ${COUNT - 5} more`);
    expect(numbersAt('/ordered')).toEqual([]);

    const sent = await replay(...BULK, '--to', `${upstreamUrl()}/ordered`, '--ordered', '--rate', '20', '--yes');
    expect(sent).toMatchObject({ code: 0 });
    expect(sent.stdout).toContain(`Sent ${COUNT} of ${COUNT}: ${COUNT} returned 200.`);
    expect(numbersAt('/ordered')).toEqual(ALL);
    const times = received.filter(({ url }) => url.startsWith('/ordered')).map(({ at }) => at);
    const spanMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
    // The replay takes 23 intervals of 50 ms. Timers may fire slightly early.
    expect(spanMs).toBeGreaterThan(0.95 * (COUNT - 1) * 50);
  });

  test('continues after an error response and reports each status', async () => {
    answerStatus = ({ url }) => (url.includes('n=3') ? 500 : 200);
    const { code, stdout } = await replay(
      ...BULK,
      '--to',
      `${upstreamUrl()}/mixed`,
      '--rate',
      '1000',
      '-y',
      '-o',
      'json',
    );
    answerStatus = () => 200;
    expect(code).toBe(0);
    const threes = ALL.filter((n) => String(n).startsWith('3')).length;
    expect(JSON.parse(stdout)).toMatchObject({
      phase: 'Succeeded',
      planned: COUNT,
      sent: COUNT,
      answered: COUNT,
      failed: 0,
      byStatus: [
        { status: 200, count: COUNT - threes },
        { status: 500, count: threes },
      ],
    });
    expect(numbersAt('/mixed').toSorted((a, b) => a - b)).toEqual(ALL);
  });
});

describe('a Replay in the data folder', () => {
  const filter = { ...ALL_DAY, search: 'path:/hook query:n= -header.standin-replay-of:*', limit: 1_000 };

  test('is paused, resumed and cancelled by its state', async () => {
    const target = { kind: 'URL', url: `${upstreamUrl()}/paused` } as const;
    const one = await DevReplay.create(dev.data, { filter, target, ratePerSecond: 20, order: 'Original' });
    await eventually('the first ones', () => numbersAt('/paused').length >= 3);
    await one.setState('Suspended');
    const { sent = 0 } = await one.until('the pause', ({ phase }) => phase === 'Suspended');
    expect(sent).toBeLessThan(COUNT);
    const paused = numbersAt('/paused').length;
    await one.setState('Running');
    await eventually('the next ones', () => numbersAt('/paused').length > paused + 2);
    await one.setState('Cancelled');
    const status = await one.ended();
    expect(status).toMatchObject({ phase: 'Cancelled', planned: COUNT });
    const count = numbersAt('/paused').length;
    expect(status.sent).toBe(count);
    expect(numbersAt('/paused')).toEqual(ALL.slice(0, count));
  });

  test.each([
    ['an invalid search', { filter: { ...filter, search: 'staus:500' } }, 'Invalid', 'There is no field "staus"'],
    ['an unknown id', { requestId: '01a1fdee-9ec2-74f7-87c1-527b96bfd44e' }, 'RequestNotFound', 'has no request'],
    ['a rate of zero', { filter, ratePerSecond: 0 }, 'Invalid', 'spec.ratePerSecond: should be greater'],
  ])('with %s fails immediately with a reason', async (_, spec, reason, message) => {
    const one = await DevReplay.create(dev.data, { ...spec, target: { kind: 'Endpoint' } });
    const { phase, conditions = [] } = await one.ended();
    expect(phase).toBe('Failed');
    expect(conditions.find(({ type }) => type === 'Accepted')).toMatchObject({ status: 'False', reason });
    expect(conditions.find(({ type }) => type === 'Failed')?.message).toContain(message);
  });

  test('resumes after standin dev is killed and sends each request in order', async () => {
    const target = { kind: 'URL', url: `${upstreamUrl()}/killed` } as const;
    const one = await DevReplay.create(dev.data, { filter, target, ratePerSecond: 5, order: 'Original' });
    await one.until('some progress', ({ cursor }) => cursor !== undefined);
    await dev.process.kill('SIGKILL');
    const before = numbersAt('/killed');
    expect(before.length).toBeLessThan(COUNT);
    const { manifests, data } = dev;
    dev = await startDev({ folders: { manifests, data } });
    const status = await one.ended(30_000);
    expect(status).toMatchObject({ phase: 'Succeeded', planned: COUNT, sent: COUNT, failed: 0 });
    const all = numbersAt('/killed');
    const again = all.slice(before.length);
    // Requests without a stored result are sent again. No request is skipped, and the order stays the same.
    expect(again).toEqual(ALL.slice(again[0]));
    expect(again[0]).toBeLessThanOrEqual(before.length);
    expect(again[0]).toBeGreaterThan(0);
  });
});
