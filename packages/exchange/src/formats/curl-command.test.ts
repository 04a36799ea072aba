import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { curlCommand } from './curl-command.ts';
import { startRawServer, type RawServer } from './raw-server.testing.ts';
import { anyRequest, type AnyRequest } from './request.testing.ts';
import { wireBytes } from './wire-bytes.ts';

/** A value that would have a side effect if a shell evaluated it. */
const KEY = '"$(touch pwned)`touch pwned`\'; touch pwned';

let server: RawServer;
let folder: string;
beforeAll(async () => {
  server = await startRawServer();
  folder = await mkdtemp(path.join(tmpdir(), 'standin-test-curl-'));
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

type Shell = readonly [command: string, ...args: string[]];

/** Runs the text in a shell, in an empty folder. */
const runShell = async (shell: Shell, text: string): Promise<string> => {
  const [command, ...args] = shell;
  const env = { PATH: process.env['PATH'], HOME: folder, HISTFILE: '', STANDIN_API_KEY: KEY, LC_ALL: 'C.UTF-8' };
  const child = spawn(command, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  child.stdout.resume();
  child.stdin.end(text);
  await once(child, 'close');
  return said;
};

/** An interactive Bash, because `!` has a special meaning in interactive mode. */
const BASH: Shell = ['bash', '--norc', '--noprofile', '-i'];
const SH: Shell = ['sh'];

interface Sent {
  readonly requestLine: string;
  readonly host: string | undefined;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

const INDEX = 'x-request-index';

/** The headers that curl does not send with HEAD, because it sends no body. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'expect']);

/** Returns the request as captured, with the key restored. A HEAD request has no body. */
const expected = ({ method, request }: AnyRequest): Sent => ({
  requestLine: `${method} ${request.target} HTTP/${request.httpVersion}`,
  host: new URL(server.url).host,
  headers: request.headers
    .filter(([name]) => name !== 'host' && !(method === 'HEAD' && FRAMING.has(name.toLowerCase())))
    .map(([name, value]) => [name, name.toLowerCase() === 'x-api-key' ? KEY : value]),
  body: method === 'HEAD' ? '' : Buffer.from(wireBytes(request)).toString('base64'),
});

const received = (): ReadonlyMap<string, Sent> =>
  new Map(
    server.requests.map(({ requestLine, headers, body }) => {
      const [first, ...rest] = headers;
      const [hostName, host] = first ?? [];
      return [
        headers.find(([name]) => name === INDEX)?.[1] ?? '',
        {
          requestLine,
          host: hostName === 'Host' ? host : `not first: ${hostName ?? ''}`,
          headers: rest,
          body: body.toString('base64'),
        },
      ];
    }),
  );

const sample = (count: number, prefix: string): AnyRequest[] =>
  fc.sample(anyRequest(new URL(server.url).host), count).map((entry, index) => {
    const headers = [...entry.request.headers, [INDEX, `${prefix}-${index}`] as const];
    return { ...entry, request: { ...entry.request, headers } };
  });

const requestIndex = ({ request }: AnyRequest): string => request.headers.at(-1)?.[1] ?? '';

const sendAll = async (shell: Shell, entries: readonly AnyRequest[]): Promise<void> => {
  const script = entries.map((entry) => `${curlCommand(entry, { baseUrl: server.url }).text}\n`).join('');
  const said = await runShell(shell, script);
  const arrived = received();
  for (const entry of entries)
    expect(arrived.get(requestIndex(entry)), `${curlCommand(entry).text}\n${said.slice(-2000)}`).toEqual(
      expected(entry),
    );
};

describe('a copied curl command', () => {
  it('sends 1,000 generated requests again, byte for byte, from an interactive bash, without side effects', async () => {
    const entries = sample(1_000, 'bash');
    const half = entries.length / 2;
    await Promise.all([sendAll(BASH, entries.slice(0, half)), sendAll(BASH, entries.slice(half))]);
    expect(await readdir(folder)).toEqual([]);
  }, 120_000);

  it('sends the same requests from a plain POSIX shell', async () => {
    await sendAll(SH, sample(100, 'sh'));
    expect(await readdir(folder)).toEqual([]);
  }, 60_000);
});
