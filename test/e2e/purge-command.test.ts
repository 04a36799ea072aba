import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { LogEntry } from '@standin/exchange';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { ask, readDocument, violations } from './api-stand.ts';
import { startDashboard, type DashboardRun } from './dashboard-stand.ts';
import { call, endpoint, forward, mock, newFolders, readLog, standin, startDev, type DevRun } from './dev-stand.ts';
import { startUpstream } from '../torture/upstream.ts';

/** Tests `standin purge` against `standin dev`, as a user types the command. */

let dev: DashboardRun;
let api: string;

const OTHER = `apiVersion: standin.dev/v1alpha1
kind: Project
metadata: {name: other}
spec: {accountRef: {name: default}}
---
${endpoint('elsewhere', { ...mock('{}'), projectRef: { name: 'other' } })}`;

beforeAll(async () => {
  const folders = await newFolders();
  await writeFile(path.join(folders.manifests, 'other.yaml'), OTHER);
  dev = await startDashboard({ folders });
  api = `${dev.dashboard}/api/v1`;
});
afterAll(() => dev.process.kill());

const purge = (...args: string[]) => standin(['purge', ...args, '--data', dev.data]);
const log = (): Promise<LogEntry[]> => readLog(dev.data);
const bodiesIn = (entries: readonly LogEntry[]): string[] => entries.map(({ request }) => request.body).toSorted();
const capture = async (run: DevRun, ...bodies: string[]): Promise<void> => {
  for (const body of bodies) await call(run, '/v1/orders', { body });
  await eventually(`the log to have ${bodies.join()}`, () => readLog(run.data), {
    accept: (entries) => bodies.every((body) => bodiesIn(entries).includes(body)),
  });
};

describe('standin purge', () => {
  test('deletes the requests that match a search, and no others', async () => {
    await capture(dev, 'jane-1', 'jane-2', 'john');
    const { code, stdout, stderr } = await purge('shop', '--filter', 'body:jane', '--reason', 'erasure', '--yes');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^2 requests deleted\./) as string });
    expect(stderr).toMatch(/^2 requests match now\.\nPurge purge-[0-9a-f]{8}\n/);
    expect(bodiesIn(await log())).toEqual(['john']);
  });

  test('prints JSON with -o json, and the record shows what was deleted and why', async () => {
    await capture(dev, 'leak');
    const args = ['--filter', 'body:leak', '--since', '1h', '--reason', 'a leaked token', '-y', '-o', 'json'];
    const { code, stdout } = await purge('shop', '-n', 'default', ...args);
    expect(code).toBe(0);
    const done = JSON.parse(stdout) as { purge: string; matched: number };
    expect(done.matched).toBe(1);
    const document = await readDocument(api);
    const shown = await ask(`${api}/namespaces/default/projects/shop/purges/${done.purge}`);
    expect(violations(document, 'getPurge', shown)).toEqual([]);
    expect(shown.json).toMatchObject({
      spec: { filter: { search: 'body:leak', to: expect.any(String) as string }, reason: 'a leaked token' },
      status: { phase: 'Completed', matched: 1 },
    });
    const list = await ask(`${api}/namespaces/default/projects/shop/purges`);
    expect(violations(document, 'listPurges', list)).toEqual([]);
    expect((list.json as { items: { name: string }[] }).items.map(({ name }) => name)).toContain(done.purge);
  });

  test('with --all deletes the requests of one project, with --server too', async () => {
    await capture(dev, 'one', 'two');
    const url = dev.ready.projects.find(({ name }) => name === 'other')?.url ?? '';
    await call({ ...dev, url }, '/elsewhere', { body: 'stays' });
    await eventually('the other project', log, { accept: (entries) => bodiesIn(entries).includes('stays') });
    const { code, stderr } = await standin([
      ...['purge', 'shop', '--all', '--reason', 'the end', '--yes', '--server', dev.dashboard],
    ]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^3 requests match now\.\n/);
    expect(bodiesIn(await log())).toEqual(['stays']);
    await capture(dev, 'later');
    expect(bodiesIn(await log())).toEqual(['later', 'stays']);
  });

  test.each([
    [['shop', '--all'], "required option '--reason <text>' not specified"],
    [['shop', '--filter', ' ', '--reason', 'x', '--yes'], 'spec.filter.search: selects all requests'],
    [['shop', '--all', '--reason', 'x'], 'add --yes to delete the requests'],
    [['nope', '--all', '--reason', 'x', '--yes'], 'you cannot see project nope on'],
    [['nope', '-n', 'default', '--all', '--reason', 'x', '--yes'], 'there is no project "nope"'],
  ])('%j deletes nothing and says why', async (args, message) => {
    const { code, stdout, stderr } = await purge(...args);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(message) as string,
    });
    expect(bodiesIn(await log())).toEqual(['later', 'stays']);
  });

  test('exits with code 5 on timeout, and the purge continues', async () => {
    const { code, stderr } = await purge('shop', '--all', '--reason', 'x', '--yes', '--timeout', '0s');
    expect(code).toBe(5);
    expect(stderr).toMatch(/did not complete within 0 s \(.*\)\. Purge purge-[0-9a-f]{8} continues/);
    await eventually('the end of the purge', log, {
      accept: (entries) => !bodiesIn(entries).includes('later'),
      timeoutMs: 60_000,
    });
  });

  test('waits for a running request of its own project, and for none of another project', async () => {
    const folders = await newFolders();
    await using upstream = await startUpstream('HTTP/1.1 200 OK\r\n\r\nand so on');
    const stream = endpoint('stream', { ...forward(upstream.url), projectRef: { name: 'other' } });
    await writeFile(path.join(folders.manifests, 'other.yaml'), `${OTHER}\n---\n${stream}`);
    const run = await startDev({ folders });
    try {
      const running = new AbortController();
      const url = run.ready.projects.find(({ name }) => name === 'other')?.url ?? '';
      const headers = { 'x-api-key': run.apiKey };
      const { body } = await request(`${url}/stream`, { method: 'POST', headers, signal: running.signal });
      body.on('error', () => undefined);
      await capture(run, 'jane', 'john');
      const args = ['--filter', 'body:jane', '--reason', 'x', '-y', '--data', run.data];
      expect(await standin(['purge', 'shop', ...args])).toMatchObject({ code: 0 });
      expect(bodiesIn(await readLog(run.data, '-p', 'shop'))).toEqual(['john']);
      const own = await standin(['purge', 'other', ...args, '--timeout', '10s']);
      expect([own.code, own.stderr]).toEqual([5, expect.stringContaining('Waiting for gateway dev')]);
      expect([upstream.open(), body.destroyed]).toEqual([1, false]);
      running.abort();
    } finally {
      await run.process.kill();
    }
  });

  test('works with standin dev --no-dashboard', async () => {
    const run = await startDev();
    try {
      await capture(run, 'jane', 'john');
      const args = ['purge', 'shop', '--filter', 'body:jane', '--reason', 'x', '-y', '--data', run.data];
      expect(await standin(args)).toMatchObject({ code: 0 });
      expect(bodiesIn(await readLog(run.data))).toEqual(['john']);
    } finally {
      await run.process.kill();
    }
  });
});
