import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import { eventually } from '../harness/eventually.ts';
import { startProcess, type RunningProcess } from '../harness/processes.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { endpoint, mock, newFolders, ROOT } from './dev-stand.ts';
import { startHostileServer } from './hostile-server.ts';

/** Characters that a terminal interprets or hides. Excludes the line feed, which ends the CLI's own lines. */
const CONTROL = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
/** Text that clears the screen, sets the window's title, forges a line of a CI log, and reverses text. */
const HOSTILE = 'x\x1b[2J\x1b]0;t\x07\n::error::forged\r\x9b31m\x85\u202ey\u2066\u2028z\x7f';
const SHOWN = String.raw`x\x1b[2J\x1b]0;t\x07\x0a::error::forged\x0d\x9b31m\x85\u202ey\u2066\u2028z\x7f`;

const BIN = path.join(ROOT, 'cli/bin/standin.js');
const standin = (...args: readonly string[]): Promise<CommandResult> =>
  runCommand(process.execPath, [BIN, ...args], { cwd: ROOT });

const expectHarmless = ({ stdout, stderr }: Pick<CommandResult, 'stdout' | 'stderr'>): void => {
  expect(stdout).not.toMatch(CONTROL);
  expect(stderr).not.toMatch(CONTROL);
  expect(`${stdout}\n${stderr}`).not.toMatch(/^::error::/m);
};

const object = (change: object): string =>
  JSON.stringify({
    apiVersion: 'standin.dev/v1alpha1',
    kind: 'Account',
    metadata: { name: 'a' },
    spec: {},
    ...change,
  });

const MANIFESTS: Readonly<Record<string, string>> = {
  kind: object({ kind: HOSTILE }),
  'unknown Standin version': object({ apiVersion: `standin.dev/${HOSTILE}` }),
  'API group of another project': object({ apiVersion: `${HOSTILE}/v1`, kind: HOSTILE }),
  name: object({ metadata: { name: HOSTILE } }),
  namespace: object({ metadata: { name: 'a', namespace: HOSTILE } }),
  'unknown field': object({ [HOSTILE]: 1 }),
  'unknown field of the spec': object({ spec: { [HOSTILE]: 1 } }),
  label: object({ metadata: { name: 'a', labels: { [HOSTILE]: HOSTILE } } }),
  reference: endpoint('ref', { ...mock('{}'), projectRef: { name: HOSTILE } }),
  slug: endpoint('slug', { ...mock('{}'), slug: `/${HOSTILE}` }),
  header: endpoint('header', {
    ...mock('{}'),
    json: { status: 200, body: '{}', headers: [{ name: HOSTILE, value: HOSTILE }] },
  }),
  'broken YAML': `a: "\x1b[2J\x9b31m\u202e\nb: [\n`,
  alias: `a: *x\x1b[2J\u202e\n`,
  tag: `a: !<x\x1b[2J\u202e> b\n`,
  'duplicate key': `"x\x1b[2J\u202e": 1\n"x\x1b[2J\u202e": 2\n`,
};

describe('standin validate', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await createTempFolder('hostile');
    for (const [name, manifest] of Object.entries(MANIFESTS))
      await writeFile(path.join(folder, `${name}.yaml`), manifest);
    await mkdir(path.join(folder, 'files'));
    // HOSTILE can be a file name, because it contains no slash.
    await writeFile(path.join(folder, 'files', `${HOSTILE}.yaml`), object({ kind: 'Frob' }));
  });

  test('prints each problem of a hostile manifest on one line without control characters', async () => {
    const result = await standin('validate', folder);
    expectHarmless(result);
    expect(result.code).toBe(1);
    const lines = result.stdout.trimEnd().split('\n');
    const summary = lines.findIndex((line) => /^\d+ files: \d+ errors, \d+ warnings?$/.test(line));
    expect(summary).toBeGreaterThan(0);
    for (const line of lines.slice(0, summary)) expect(line.startsWith(`${folder}/`)).toBe(true);
    expect(lines.slice(summary + 1)).toEqual([expect.stringContaining('If the missing objects are in the cluster')]);
    for (const name of Object.keys(MANIFESTS)) expect(result.stdout).toContain(`${folder}/${name}.yaml:`);
    expect(result.stdout).toContain(`${folder}/files/${SHOWN}.yaml:1: error: `);
    expect(result.stdout).toContain(`: warning: ${SHOWN} a: apiVersion: ${SHOWN}/v1 ${SHOWN} is not a Standin object`);
  });

  test('prints JSON without control characters', async () => {
    const result = await standin('validate', '-o', 'json', folder);
    expectHarmless(result);
    const found = result.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { file: string; object: string });
    expect(found.map(({ file }) => file)).toContain(path.join(folder, 'files', `${HOSTILE}.yaml`));
    expect(found.map(({ object: title }) => title)).toContain(`Account default/${HOSTILE}`);
  });

  test('escapes the name of a file that it cannot read', async () => {
    const result = await standin('validate', path.join(folder, HOSTILE));
    expectHarmless(result);
    expect(result.stderr).toBe(`standin: ${folder}/${SHOWN} does not exist\n`);
  });
});

const BODY = Buffer.from(HOSTILE);

describe('standin dev and logs', () => {
  let dev: RunningProcess;
  let data: string;
  const printed = (): string => dev.log().join('\n');

  beforeAll(async () => {
    const folders = await newFolders();
    ({ data } = folders);
    for (const [name, manifest] of Object.entries(MANIFESTS))
      await writeFile(path.join(folders.manifests, `${name}.yaml`), manifest);
    await writeFile(path.join(folders.manifests, `${HOSTILE}.yaml`), object({ kind: 'Frob' }));
    const args = ['dev', folders.manifests, '--data', data, '--gateway-port', '0', '--no-dashboard'];
    dev = startProcess({ name: 'standin dev', main: 'cli/src/main.ts', args });
    const curl = await dev.waitForLine('the first request', (line) => line.startsWith('  curl '), 60_000);
    const [, key = '', url = ''] = /x-api-key: (\S+?)'.* '(http\S+)'$/.exec(curl) ?? [];
    const { host, port, pathname } = new URL(url);
    const send = async (target: string): Promise<string> => {
      const socket = connect(Number(port), '127.0.0.1');
      const head = [
        `POST ${target} HTTP/1.1`,
        `host: ${host}`,
        `x-api-key: ${key}`,
        'x-a: \x9b31m',
        'connection: close',
      ];
      socket.write(`${[...head, `content-length: ${BODY.length}`].join('\r\n')}\r\n\r\n`, 'latin1');
      socket.write(BODY);
      return text(socket);
    };
    expect(await send(pathname)).toMatch(/^HTTP\/1\.1 2/);
    // The gateway does not accept the byte 0x9b in a target.
    expect(await send(`${pathname}?\x9b2J`)).toMatch(/^HTTP\/1\.1 400/);
  });
  afterAll(() => dev.kill());

  test('standin dev prints each hostile value on one line', async () => {
    await dev.waitForLine('the request', (line) => / 20\d {2}\/v1\/orders /.test(line));
    await dev.waitForLine('the rejected one', (line) => line.includes('rejected: '));
    expectHarmless({ stdout: printed(), stderr: '' });
    expect(printed()).toContain(SHOWN);
    await dev.waitForLine('the file', (line) => line.includes(`${SHOWN}.yaml:1: `));
  });

  test.each(['text', 'json', 'curl'] as const)('standin logs -o %s escapes control characters', async (output) => {
    const args = ['logs', '--data', data, '-o', output];
    const result = await eventually('the request', () => standin(...args), { accept: ({ stdout }) => stdout !== '' });
    expect({ code: result.code, stderr: result.stderr }).toEqual({ code: 0, stderr: '' });
    expectHarmless(result);
    const holds = { text: '/v1/orders', json: String.raw`\u009b31m`, curl: String.raw`x-a: '"$(printf '\233')"` };
    expect(result.stdout).toContain(holds[output]);
  });
});

describe('a hostile server', () => {
  const DETAIL = JSON.stringify({ code: HOSTILE, detail: HOSTILE });

  test.each([
    ['logs', '-n', 'a', '-p', 'b'],
    ['usage', 'a', '-n', 'b'],
    ['key', 'regenerate', 'a', '-n', 'b', '--yes'],
    ['share', 'id', '-n', 'a', '-p', 'b'],
    ['replay', '-p', 'b', '--since', '1h', '--yes'],
  ])('cannot control the terminal with its error responses: %s', async (...args) => {
    await using server = await startHostileServer((_, response) => void response.writeHead(403).end(DETAIL));
    const result = await standin(...args, '--server', server.url, '--token', 't');
    expect(result.code).toBe(1);
    expectHarmless(result);
    expect(result.stderr).toContain(SHOWN);
  });

  test('cannot control the terminal with the names of its projects and accounts', async () => {
    const items = [HOSTILE, 'b'].map((name) => ({ namespace: HOSTILE, name }));
    await using server = await startHostileServer((_, response) => response.end(JSON.stringify({ items })));
    const result = await standin('logs', '--server', server.url, '--token', 't');
    expectHarmless(result);
    expect(result.stderr).toContain(`specify a project: -n ${SHOWN} -p ${SHOWN}`);
  });

  test('cannot control the terminal with usage, as text or as JSON', async () => {
    const usage = {
      month: '2026-11',
      used: 0,
      resetsOn: '2026-12-01',
      total: 0,
      days: [],
      otherRequests: 0,
      logFailure: HOSTILE,
      endpoints: [{ namespace: HOSTILE, project: HOSTILE, projectUid: 'u', endpoint: HOSTILE, requests: 1 }],
    };
    await using server = await startHostileServer((_, response) => response.end(JSON.stringify(usage)));
    for (const output of ['text', 'json']) {
      const result = await standin('usage', 'a', '-n', 'b', '-o', output, '--server', server.url, '--token', 't');
      expect({ code: result.code, stderr: result.stderr }).toEqual({ code: 0, stderr: '' });
      expectHarmless(result);
    }
  });

  test('cannot control the terminal through the stack trace of an unexpected error', async () => {
    await using server = await startHostileServer(({ url }, response) => {
      if (url?.includes(':stream') !== true) response.end('{"items":[]}');
      else response.end(`event: request\ndata: \x1b[2J\x9b31m${HOSTILE.replaceAll(/[\r\n]/g, '')}\n\n`);
    });
    const result = await standin('tail', '-n', 'a', '-p', 'b', '--server', server.url, '--token', 't');
    expect(result.code).toBe(1);
    expectHarmless(result);
    expect(result.stderr).toContain('SyntaxError: Unexpected token');
  });
});
