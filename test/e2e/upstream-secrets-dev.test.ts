import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { DevReplay } from './dev-replays.ts';
import { call, endpoint, newFolders, readLog, standin, startDev, type DevRun } from './dev-stand.ts';
import { startTlsUpstream, type TlsUpstream } from './tls-upstream.ts';

/** Tests headers for upstreams from Secrets with `standin dev`. The tests build on each other, in order. */

const [FIRST, SECOND] = ['Bearer first-of-the-upstream', 'Bearer second-of-the-upstream'];

const received: (string | undefined)[] = [];
let upstream: TlsUpstream;
let dev: DevRun;

const secret = (authorization: string, origins: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'up',
      labels: { 'standin.dev/upstream-credential': 'true' },
      annotations: { 'standin.dev/upstream-origins': origins },
    },
    stringData: { authorization },
  });
const write = (text: string): Promise<void> => writeFile(path.join(dev.manifests, 'secret.yaml'), text);

beforeAll(async () => {
  upstream = await startTlsUpstream(({ headers }, response) => {
    received.push(headers.authorization);
    response.end('{}');
  });
  const folders = await newFolders();
  const ca = path.join(folders.manifests, '..', 'ca.crt');
  const valueFrom = { secretRef: { name: 'up', key: 'authorization' } };
  const requestHeaders = { set: [{ name: 'authorization', valueFrom }] };
  await writeFile(ca, upstream.ca);
  await writeFile(path.join(folders.manifests, 'secret.yaml'), secret(FIRST, upstream.url));
  await writeFile(
    path.join(folders.manifests, 'up.yaml'),
    endpoint('up', { action: 'Forward', forward: { url: upstream.url, requestHeaders } }),
  );
  dev = await startDev({ folders, env: { NODE_EXTRA_CA_CERTS: ca } });
});
afterAll(async () => {
  await dev.process.kill('SIGTERM');
  await upstream.close();
});

test('the upstream gets the value, also in a Replay, and neither the log nor the data folder has it', async () => {
  expect(await call(dev, '/up')).toMatchObject({ status: 200 });
  const [entry] = await eventually('the log', () => readLog(dev.data), { accept: ({ length }) => length === 1 });
  const replay = await DevReplay.create(dev.data, { target: { kind: 'Upstream' }, requestId: entry?.id });
  expect(await replay.ended()).toMatchObject({ phase: 'Succeeded' });
  expect(received).toEqual([FIRST, FIRST]);
  const files = (await readdir(dev.data, { recursive: true, withFileTypes: true })).filter((file) => file.isFile());
  expect(files.length).toBeGreaterThan(5);
  for (const { parentPath, name } of files)
    expect((await readFile(path.join(parentPath, name))).includes(FIRST), name).toBe(false);
});

test('a changed file takes effect', async () => {
  await write(secret(SECOND, upstream.url));
  await eventually('the new value', async () => (await call(dev, '/up'), received.at(-1)), {
    accept: (value) => value === SECOND,
  });
});

test('an origin that the file no longer names gets nothing, and both standin dev and standin validate say why', async () => {
  await write(secret(SECOND, 'https://example.com'));
  await eventually('the refusal', () => call(dev, '/up'), {
    accept: ({ rejected }) => rejected === 'endpoint_not_accepted',
  });
  const before = received.length;
  await call(dev, '/up');
  expect(received.length).toBe(before);
  const problem = `Secret up is not for ${upstream.url}`;
  await eventually('the output', () => Promise.resolve(dev.process.logTail(1_000).join('\n')), {
    accept: (output) => output.includes(problem),
  });
  const { code, stdout, stderr } = await standin(['validate', '--allow-private-upstreams', dev.manifests]);
  expect({ code, output: stdout + stderr }).toEqual({ code: 1, output: expect.stringContaining(problem) as string });
  expect(stdout + stderr + dev.process.logTail(5_000).join('\n')).not.toContain('of-the-upstream');
});
