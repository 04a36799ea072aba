import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { gzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../cluster/run-command.ts';
import { eventually } from '../harness/eventually.ts';
import { startProcess } from '../harness/processes.ts';
import {
  call,
  endpoint,
  forward,
  mock,
  newFolders,
  printLog,
  startDev,
  standin,
  type CallResult,
  type DevRun,
} from './dev-stand.ts';

const LIVE_WITHIN_MS = 1_000;

const inManifests = (dev: DevRun, file: string): string => path.join(dev.manifests, file);

/** Waits up to a second for a matching response. */
const becomes = (dev: DevRun, slug: string, accept: (answer: CallResult) => boolean): Promise<CallResult> =>
  eventually(`a matching response from ${slug}`, () => call(dev, slug), {
    accept,
    timeoutMs: LIVE_WITHIN_MS,
    intervalMs: 10,
  });

const isNotAccepted = ({ status, rejected }: CallResult): boolean =>
  status === 503 && rejected === 'endpoint_not_accepted';

const objectEvent = (dev: DevRun, name: string, state: string): Promise<Record<string, unknown>> =>
  dev.process.waitForEvent(
    `${name} ${state}`,
    (event) => event['event'] === 'object' && event['object'] === name && event['state'] === state,
  );

/** Sends raw bytes on a new connection. Returns the response as text. */
const sendRaw = async (url: string, bytes: Buffer): Promise<string> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(bytes);
  return text(socket);
};

describe('standin dev', () => {
  let dev: DevRun;
  let upstream: Server;
  let upstreamUrl: string;

  beforeAll(async () => {
    upstream = createServer((incoming, response) => {
      response.writeHead(202, { 'x-upstream': 'yes' }).end(`${incoming.method} ${incoming.url}`);
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    upstreamUrl = `http://localhost:${(upstream.address() as AddressInfo).port}`;
    dev = await startDev();
  });
  afterAll(async () => {
    upstream.close();
    upstream.closeAllConnections();
    await dev.process.kill();
  });

  test('the first event is ready, with the gateway, accounts with keys, and projects with URLs', () => {
    const { gateway } = dev.ready;
    expect(dev.process.log()[0]).toBe(JSON.stringify(dev.ready));
    expect(dev.ready).toEqual({
      event: 'ready',
      gateway: expect.stringMatching(/^http:\/\/localhost:\d+$/) as string,
      accounts: [
        { namespace: 'default', name: 'default', apiKey: expect.stringMatching(/^standin_[0-9A-Za-z]{49}$/) as string },
      ],
      projects: [
        {
          namespace: 'default',
          name: 'shop',
          url: expect.stringMatching(new RegExp(`^${gateway}/[0-9a-z]{16,64}$`)) as string,
        },
      ],
    });
  });

  test('a served request causes an event and a complete log entry, byte for byte', async () => {
    const { pathname, host } = new URL(dev.url);
    const head = [
      `POST ${pathname}/v1/orders?a=1&a=%zz HTTP/1.1`,
      `Host: ${host}`,
      'X-Twice: one',
      `x-api-key: ${dev.apiKey}`,
      'x-twice: tw\xf6',
      'Transfer-Encoding: chunked',
      'Connection: close',
    ].join('\r\n');
    const body = Buffer.from([0, 255, 128, 10]);
    const bytes = [Buffer.from(`${head}\r\n\r\n4\r\n`, 'latin1'), body, Buffer.from('\r\n0\r\nX-Trailer: end\r\n\r\n')];
    expect(await sendRaw(dev.url, Buffer.concat(bytes))).toMatch(/^HTTP\/1\.1 201 Created\r\n/);

    const event = await dev.process.waitForEvent('the request', (candidate) => candidate['event'] === 'request');
    const [entry] = await printLog(dev.data, '--limit', '1');
    expect(event).toEqual({
      event: 'request',
      id: entry?.id,
      method: 'POST',
      path: '/v1/orders',
      status: 201,
      outcome: 'mocked',
      durationMs: entry?.durationMs,
      namespace: 'default',
      project: 'shop',
      endpoint: 'create-order',
      responseName: '',
    });

    const mocked = /body: \|\n((?: {6}.*\n)+)/.exec(await readFile(inManifests(dev, 'create-order.yaml'), 'utf8'))?.[1];
    const keySha256 = createHash('sha256').update(dev.apiKey).digest('hex');
    expect(entry).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) as string,
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as string,
      namespace: 'default',
      project: 'shop',
      endpoint: 'create-order',
      method: 'POST',
      path: '/v1/orders',
      query: 'a=1&a=%zz',
      status: 201,
      durationMs: expect.any(Number) as number,
      request: {
        target: `${pathname}/v1/orders?a=1&a=%zz`,
        httpVersion: '1.1',
        headers: [
          ['Host', host],
          ['X-Twice', 'one'],
          ['x-api-key', `sha256:${keySha256.slice(0, 8)}`],
          ['x-twice', 'tw\xf6'],
          ['Transfer-Encoding', 'chunked'],
          ['Connection', 'close'],
        ],
        trailers: [['X-Trailer', 'end']],
        body: body.toString('base64'),
        bodyEncoding: 'base64',
      },
      response: {
        status: 201,
        headers: [
          ['content-type', 'application/json'],
          ['location', expect.stringMatching(/^http:\/\/localhost:\d+\/[a-z0-9]{16,}\/v1\/orders\/1001$/) as string],
          ['content-length', '80'],
          ['date', expect.any(String) as string],
        ],
        body: mocked?.replace(/^ {6}/gm, ''),
        bodyEncoding: 'utf8',
        truncated: false,
      },
    });
    expect(JSON.stringify(entry)).not.toContain(dev.apiKey);
  });

  test('requests with compressed bodies are announced, and do not hold up those after them', async () => {
    const headers = { 'x-api-key': dev.apiKey, 'content-encoding': 'gzip' };
    const body = gzipSync('{"customer": "Ada"}');
    await (await request(`${dev.url}/v1/orders?compressed`, { method: 'POST', headers, body })).body.dump();
    await call(dev, '/v1/orders?after');
    const find = () => printLog(dev.data, '--filter', 'body:Ada');
    const found = await eventually('the text of the body', find, { accept: ({ length }) => length > 0 });
    expect(found).toMatchObject([{ query: 'compressed', outcome: 'mocked' }]);
    const announced = () => dev.process.log().filter((line) => line.includes('"event":"request"')).length;
    await eventually('both requests to be announced', announced, { accept: (count) => count >= 2 });
  });

  test('a rejected request causes an event and is not in the log', async () => {
    const marker = `/v1/never-${process.pid}`;
    expect(await call(dev, `${marker}?token=secret`)).toMatchObject({ status: 404, rejected: 'endpoint_not_found' });
    expect(await call({ ...dev, apiKey: 'wrong' }, '/v1/orders')).toMatchObject({ status: 401 });
    const { pathname } = new URL(dev.url);
    const events = [
      { event: 'rejected', method: 'POST', path: `${pathname}${marker}`, status: 404, code: 'endpoint_not_found' },
      { event: 'rejected', method: 'POST', path: `${pathname}/v1/orders`, status: 401, code: 'api_key_invalid' },
    ];
    for (const one of events) await dev.process.waitForEvent('it', (event) => isDeepStrictEqual(event, one));
    await call(dev, '/v1/orders', { body: 'accepted' });
    const entries = await eventually('the accepted one', () => printLog(dev.data), {
      accept: (all) => all.some(({ request }) => request.body === 'accepted'),
    });
    expect(entries.map(({ status }) => status)).toEqual(entries.map(() => 201));
  });

  test('an edited manifest is live within a second', async () => {
    const file = inManifests(dev, 'create-order.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('49.90', '50.00'));
    expect((await becomes(dev, '/v1/orders', ({ body }) => body.includes('50.00'))).status).toBe(201);
    await objectEvent(dev, 'Endpoint default/create-order', 'live');
  });

  test('a new file is live within a second, and a removed one is no longer served', async () => {
    const file = inManifests(dev, 'new.json');
    await writeFile(file, endpoint('new', mock('{"new": 1.0}')));
    expect(await becomes(dev, '/new', ({ status }) => status === 200)).toMatchObject({ body: '{"new": 1.0}' });
    await rm(file);
    await becomes(dev, '/new', ({ rejected }) => rejected === 'endpoint_not_found');
    await objectEvent(dev, 'Endpoint default/new', 'gone');
  });

  test('the action switches from the mock to an upstream on this machine and back', async () => {
    const file = inManifests(dev, 'switch.json');
    const both = { ...mock('{"mock": true}'), ...forward(`${upstreamUrl}/real`) };
    await writeFile(file, endpoint('switch', { ...both, action: 'JSON' }));
    await becomes(dev, '/switch', ({ body }) => body === '{"mock": true}');
    await writeFile(file, endpoint('switch', { ...both, action: 'Forward' }));
    expect(await becomes(dev, '/switch', ({ body }) => body === 'POST /real')).toMatchObject({ status: 202 });
    await writeFile(file, endpoint('switch', { ...both, action: 'JSON' }));
    await becomes(dev, '/switch', ({ body }) => body === '{"mock": true}');
  });

  test('an endpoint with a mistake keeps its path, so that no less specific one responds', async () => {
    const [wide, own] = [inManifests(dev, 'wide.json'), inManifests(dev, 'own.json')];
    const spec = { ...mock('"own"'), slug: '/mistakes/1' };
    await writeFile(wide, endpoint('wide', { ...mock('"wide"'), slug: '/mistakes/{id}' }));
    for (const mistake of [{ json: { body: '{' } }, { json: { body: {} } }, { colour: 'red' }, { action: 'Weather' }]) {
      await writeFile(own, endpoint('own', spec));
      await becomes(dev, '/mistakes/1', ({ body }) => body === '"own"');
      await writeFile(own, endpoint('own', { ...spec, ...mistake }));
      const answer = await becomes(dev, '/mistakes/1', ({ body }) => body !== '"own"');
      expect([mistake, answer.status, answer.rejected]).toEqual([mistake, 503, 'endpoint_not_accepted']);
    }
    expect(await call(dev, '/mistakes/2')).toMatchObject({ status: 200, body: '"wide"' });
    await rm(own);
    await becomes(dev, '/mistakes/1', ({ body }) => body === '"wide"');
    await rm(wide);
    await objectEvent(dev, 'Endpoint default/wide', 'gone');
  });

  test('a metadata address is rejected with its line in the manifest', async () => {
    const file = inManifests(dev, 'metadata.json');
    await writeFile(file, endpoint('metadata', forward('http://169.254.169.254/latest/meta-data')));
    const notice = await objectEvent(dev, 'Endpoint default/metadata', 'not ready');
    expect(notice).toMatchObject({
      where: `${file}:1`,
      message: expect.stringMatching(/^spec\.forward\.url: .*metadata/) as string,
    });
    await becomes(dev, '/metadata', isNotAccepted);
    await rm(file);
    await objectEvent(dev, 'Endpoint default/metadata', 'gone');
  });

  test('its own ClickHouse cannot be an upstream under any spelling of its address', async () => {
    const { clickhouse } = JSON.parse(await readFile(path.join(dev.data, 'running.json'), 'utf8')) as {
      clickhouse: { url: string };
    };
    const file = inManifests(dev, 'clickhouse.json');
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '127.9.9.9']) {
      await writeFile(file, endpoint('clickhouse', forward(`http://${host}:${new URL(clickhouse.url).port}/ping`)));
      const notice = await objectEvent(dev, 'Endpoint default/clickhouse', 'not ready');
      expect(notice['message']).toMatch(/^spec\.forward\.url: .* is a component of Standin/);
      await becomes(dev, '/clickhouse', isNotAccepted);
      await rm(file);
      await objectEvent(dev, 'Endpoint default/clickhouse', 'gone');
    }
  });

  test('invalid YAML is reported with its line, and the last valid version stays active', async () => {
    const file = inManifests(dev, 'list-orders.yaml');
    const good = await readFile(file, 'utf8');
    await writeFile(file, good.replace('slug: /v1/orders', 'slug: [/v1/orders'));
    const problem = await dev.process.waitForEvent('the problem', ({ event }) => event === 'problem');
    expect(problem['where']).toMatch(new RegExp(`^${file}:\\d+$`));
    expect(problem['message']).toMatch(/^not YAML: [^\n]+$/);
    expect(await call(dev, '/v1/orders', { method: 'GET' })).toMatchObject({ status: 200 });
    await writeFile(file, good);
    expect(await dev.process.waitForEvent('the problem to be solved', ({ event }) => event === 'solved')).toMatchObject(
      {
        where: file,
      },
    );
  });

  test('an invalid field is reported with its line and affects only its object', async () => {
    const file = inManifests(dev, 'create-order.yaml');
    const good = await readFile(file, 'utf8');
    const line = 1 + good.split('\n').findIndex((text) => text.startsWith('  slug:'));
    await writeFile(file, good.replace('slug: /v1/orders', 'slug: v1/orders'));
    expect(await objectEvent(dev, 'Endpoint default/create-order', 'not ready')).toMatchObject({
      where: `${file}:${line}`,
      message: 'spec.slug: must begin with /.',
    });
    expect(await call(dev, '/v1/orders', { method: 'GET' })).toMatchObject({ status: 200 });
    await writeFile(file, good);
    await becomes(dev, '/v1/orders', ({ status }) => status === 201);
  });

  test('survives a crash of the ClickHouse engine and loses no requests', async () => {
    const { stdout } = await runCommand('pgrep', ['-P', String(dev.process.pid)]);
    process.kill(Number(stdout.trim()), 'SIGKILL');
    expect((await call(dev, '/v1/orders', { body: 'while ClickHouse was away' })).status).toBe(201);
    await eventually('the request in the log', () => printLog(dev.data), {
      accept: (entries) => entries.some(({ request }) => request.body === 'while ClickHouse was away'),
      timeoutMs: 20_000,
    });
    expect(dev.process.hasEnded).toBe(false);
  });

  test('a second standin dev cannot use the same data folder', async () => {
    const { code, stderr } = await standin(['dev', dev.manifests, '--data', dev.data, '--gateway-port', '0']);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `standin: standin dev is already running for ${dev.data} at ${dev.ready.gateway}: stop it (process ${dev.process.pid}), or choose another folder with --data\n`,
    );
  });

  test('Ctrl-C ends it with code 0 within seconds, and the log contains the latest requests', async () => {
    const bodies = Array.from({ length: 50 }, (_, index) => `last ${index}`);
    await Promise.all(bodies.map((body) => call(dev, '/v1/orders', { body })));
    const before = performance.now();
    expect(await dev.process.kill('SIGINT')).toEqual({ code: 0, signal: null });
    expect(performance.now() - before).toBeLessThan(5_000);
    const logged = (await printLog(dev.data, '--limit', '50')).map(({ request }) => request.body);
    expect(logged.sort()).toEqual(bodies.sort());
    const shown = dev.process.log().filter((line) => line.includes('"event":"request"'));
    expect(shown).toHaveLength((await printLog(dev.data, '--limit', '10000')).length);
  });
});

describe('standin dev with text output', () => {
  test('the printed curl command works, and its request appears in the output', async () => {
    const { manifests, data } = await newFolders();
    const file = path.join(manifests, 'create-order.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replace('slug: /v1/orders', 'slug: /v1/orders/{id}'));
    const dev = startProcess({
      name: 'standin dev',
      main: 'cli/src/main.ts',
      args: ['dev', manifests, '--data', data, '--gateway-port', '0', '--dashboard-port', '0'],
    });
    // The first start in a checkout builds the dashboard.
    const curl = await dev.waitForLine('the curl', (line) => line.startsWith('  curl '), 60_000);
    const { stdout } = await runCommand('bash', ['-c', curl]);
    expect(stdout).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
    const line = await dev.waitForLine('the request', (candidate) => candidate.includes('default/create-order'));
    expect(line).toMatch(
      /^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} {2}POST {4}201 {2}\/v1\/orders\/1 +[\d.]+ ms {2}default\/create-order {2}[\da-f-]{36}$/,
    );
    expect((await standin(['logs', '--data', data])).stdout).toBe(`${line}\n`);
    await runCommand('bash', ['-c', curl.replace(/x-api-key: \w+/, 'x-api-key: mistyped')]);
    const refused = await dev.waitForLine('the rejected request', (candidate) => candidate.includes('api_key_invalid'));
    expect(refused).toMatch(
      /^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} {2}POST {4}401 {2}\/\w+\/v1\/orders\/1 +rejected: api_key_invalid$/,
    );

    expect(await dev.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    const banner = dev
      .log()
      .filter((printed) => !printed.startsWith('Building the dashboard'))
      .join('\n')
      .replaceAll(/localhost:\d+\/\w+/g, 'URL')
      .replaceAll(/standin_\w+/g, 'KEY');
    const anonymous = banner.replace(/localhost:\d+/, 'GATEWAY').replace(/localhost:\d+/, 'DASHBOARD');
    expect(anonymous.replace(line, 'LINE').replace(refused, 'REFUSED')).toBe(
      [
        'Starting ClickHouse, operator and gateway…',
        '',
        `Ready. 3 endpoints from ${manifests} at http://GATEWAY`,
        'Dashboard: http://DASHBOARD',
        '  Account default/default  x-api-key: KEY',
        '  Project default/shop     http://URL',
        '    GET     /v1/orders       list-orders',
        '    POST    /v1/orders/{id}  create-order',
        '    DELETE  /v1/orders/1001  cancel-order',
        '',
        'Try it:',
        `  curl -i -X POST -H 'x-api-key: KEY' -d '{"try": true}' 'http://URL/v1/orders/1'`,
        '',
        'Endpoints can forward to localhost and private addresses here; --deny-private-upstreams blocks them, as in a cluster.',
        `Changes to resources apply immediately. Requests appear below; npx standin logs --data ${data} lists them. Press Ctrl-C to stop.`,
        '',
        'LINE',
        'REFUSED',
        `npx standin refused --data ${data} explains why, and what to do.`,
        'Stopping…',
      ].join('\n'),
    );
  });

  test('--deny-private-upstreams rejects an upstream on this machine with its line in the manifest', async () => {
    const folders = await newFolders();
    await writeFile(path.join(folders.manifests, 'here.json'), endpoint('here', forward('http://localhost:8080/')));
    await writeFile(path.join(folders.manifests, 'private.json'), endpoint('private', forward('http://10.0.0.1/')));
    const dev = await startDev({ folders, args: ['--deny-private-upstreams'] });
    for (const name of ['here', 'private']) {
      expect(await objectEvent(dev, `Endpoint default/${name}`, 'not ready')).toMatchObject({
        where: `${path.join(folders.manifests, `${name}.json`)}:1`,
        message: expect.stringMatching(/^spec\.forward\.url: .* is a (private|loopback) address/) as string,
      });
      await becomes(dev, `/${name}`, isNotAccepted);
    }
    expect((await call(dev, '/v1/orders')).status).toBe(201);
    await dev.process.kill();
  });

  test('--api-key-header any-case accepts a capitalized header name', async () => {
    const dev = await startDev({ args: ['--api-key-header', 'any-case'] });
    const { pathname, host } = new URL(dev.url);
    const head = `GET ${pathname}/v1/orders HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: ${dev.apiKey}\r\nConnection: close`;
    expect(await sendRaw(dev.url, Buffer.from(`${head}\r\n\r\n`))).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    await dev.process.kill();
  });

  test('a log that cannot be delivered to ClickHouse is reported', async () => {
    const { manifests, data } = await newFolders();
    const args = ['dev', manifests, '--data', data, '--gateway-port', '0'];
    const dev = startProcess({ name: 'standin dev', main: 'cli/src/main.ts', args });
    const curl = await dev.waitForLine('the curl', (line) => line.startsWith('  curl '), 30_000);
    const engine = path.join(data, 'clickhouse');
    // ClickHouse may be writing into its folders. The folder itself stays, because standin dev ends when it is removed.
    for (const name of await readdir(engine))
      await rm(path.join(engine, name), { recursive: true, force: true, maxRetries: 10 });
    await runCommand('bash', ['-c', curl]);
    await dev.waitForLine('the warning', (line) => line.startsWith('! gateway: delivery delayed, retrying'));
    await dev.kill('SIGKILL');
  });
});
