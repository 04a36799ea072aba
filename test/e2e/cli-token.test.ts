import { spawn } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, test } from 'vitest';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { ROOT } from './dev-stand.ts';
import { startHostileServer } from './hostile-server.ts';
import { startTlsUpstream } from './tls-upstream.ts';

const BIN = path.join(ROOT, 'cli/bin/standin.js');
const USAGE = {
  month: '2026-11',
  used: 0,
  resetsOn: '2026-12-01',
  total: 0,
  days: [],
  endpoints: [],
  otherRequests: 0,
};

/**
 * Returns the listener of a simulated dashboard. It accepts any token, and responds to requests without one with 401 and the name
 * of its Service.
 */
const dashboard =
  (service?: string): RequestListener =>
  ({ headers }, response) => {
    if (headers.authorization !== undefined) {
      response.end(JSON.stringify(USAGE));
      return;
    }
    response.writeHead(401, { ...(service !== undefined && { 'standin-service': service }) });
    response.end(JSON.stringify({ code: 'unauthorized', detail: 'Send a token.' }));
  };

let folder: string;
let env: NodeJS.ProcessEnv;
beforeEach(async () => {
  folder = await createTempFolder('token');
  env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('STANDIN_'))),
    HOME: folder,
    XDG_STATE_HOME: path.join(folder, 'state'),
    KUBECONFIG: path.join(folder, 'kubeconfig'),
  };
  await useCluster({});
});

/** Sets the kubeconfig's current context to this cluster. */
const useCluster = async ({ server = 'https://127.0.0.1:9', ca = 'A' }: { server?: string; ca?: string }) => {
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'me', user: { token: 'mine' } }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'me' } }],
  };
  await writeFile(path.join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
};

const COMMAND = ['usage', 'a', '-n', 'b', '--server'];
const usage = (server: string, ...args: string[]): Promise<CommandResult> =>
  runCommand(process.execPath, [BIN, ...COMMAND, server, ...args], { cwd: ROOT, env });

/** Runs the command at a terminal, and types `answer` at the prompt. */
const usageAtTerminal = (server: string, answer: string): Promise<CommandResult> => {
  const command = [process.execPath, BIN, ...COMMAND, server].map((part) => `'${part}'`).join(' ');
  const args = process.platform === 'linux' ? ['-qec', command, '/dev/null'] : ['-q', '/dev/null', 'sh', '-c', command];
  return runCommand('script', args, { cwd: ROOT, env, input: `${answer}\n` });
};

const MINE = 'Bearer mine';

describe("the kubeconfig's token", () => {
  test('is not sent to an unknown server without a terminal', async () => {
    await using server = await startHostileServer(dashboard());
    const { code, stdout, stderr } = await usage(server.url);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `standin: ${server.url} has never received your token for the cluster https://127.0.0.1:9. Add --trust-server to send it, or pass a token with --token or STANDIN_TOKEN\n`,
    });
    expect(server.requests).toHaveLength(1);
    expect(server.tokens()).toEqual([]);
  });

  test('is sent to a server with --trust-server, and later without it', async () => {
    await using server = await startHostileServer(dashboard());
    expect(await usage(server.url, '--trust-server')).toMatchObject({ code: 0, stderr: '' });
    expect(await usage(server.url)).toMatchObject({ code: 0, stderr: '' });
    expect(server.tokens()).toEqual([MINE, MINE]);
    const file = path.join(folder, 'state/standin/known-servers.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    expect(await readFile(file, 'utf8')).not.toContain('mine');
  });

  test('is sent after a yes at the terminal, which is remembered', async () => {
    await using server = await startHostileServer(dashboard());
    const refused = await usageAtTerminal(server.url, '');
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stdout).toContain(
      `${server.url} asks for a token. Send it the token from context here (cluster https://127.0.0.1:9)? [y/N]`,
    );
    expect(refused.stdout).toContain('the token was not sent to');
    expect(server.tokens()).toEqual([]);
    expect(await usageAtTerminal(server.url, 'y')).toMatchObject({ code: 0 });
    expect(await usage(server.url)).toMatchObject({ code: 0 });
    expect(server.tokens()).toEqual([MINE, MINE]);
  });

  test.each<[string, { server?: string; ca?: string }]>([
    ['another cluster', { server: 'https://127.0.0.2:9' }],
    ['another authority under the same URL', { ca: 'B' }],
  ])('for %s is not sent to a server that is known for the first cluster', async (_what, cluster) => {
    await using server = await startHostileServer(dashboard());
    await usage(server.url, '--trust-server');
    await useCluster(cluster);
    expect(await usage(server.url)).toMatchObject({ code: 1 });
    expect(server.tokens()).toEqual([MINE]);
  });

  test('is not sent to another port of the same host', async () => {
    await using known = await startHostileServer(dashboard());
    await using other = await startHostileServer(dashboard());
    await usage(known.url, '--trust-server');
    expect(await usage(other.url)).toMatchObject({ code: 1 });
    expect(other.tokens()).toEqual([]);
  });

  test('needs consent again when the file of known servers is invalid or cannot be written', async () => {
    await using server = await startHostileServer(dashboard());
    const state = path.join(folder, 'state/standin');
    await mkdir(state, { recursive: true });
    await writeFile(path.join(state, 'known-servers.json'), '{"servers": [{}]}');
    expect(await usage(server.url)).toMatchObject({ code: 1 });
    expect(server.tokens()).toEqual([]);
    env = { ...env, XDG_STATE_HOME: '/dev/null' };
    const { code, stderr } = await usage(server.url, '--trust-server');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^standin: cannot save /) as string,
    });
    expect(server.tokens()).toEqual([MINE]);
  });
});

describe('behind a port-forward', () => {
  const SERVICE = 'standin/standin-dashboard';

  test('a server is identified by its Service, not by the local port', async () => {
    await using first = await startHostileServer(dashboard(SERVICE));
    await using second = await startHostileServer(dashboard(SERVICE));
    const asked = await usageAtTerminal(first.url, 'y');
    expect(asked.stdout).toContain(`${first.url}, which claims to be the Service ${SERVICE}, asks for a token.`);
    expect(await usage(second.url)).toMatchObject({ code: 0, stderr: '' });
    expect(second.tokens()).toEqual([MINE]);
  });

  test('the same local port is another server when it forwards to another Service or to none', async () => {
    let service: string | undefined = SERVICE;
    await using server = await startHostileServer((request, response) => dashboard(service)(request, response));
    await usage(server.url, '--trust-server');
    for (service of ['staging/standin-dashboard', undefined, 'a b\x9b'])
      expect(await usage(server.url)).toMatchObject({ code: 1 });
    expect(server.tokens()).toEqual([MINE]);
  });

  // Only root can start a process as another user.
  test.runIf(process.getuid?.() === 0)(
    'a known Service needs consent again when another user listens on the port',
    async () => {
      await using own = await startHostileServer(dashboard(SERVICE));
      await usage(own.url, '--trust-server');
      const program = `
      process.setgid(65534); process.setuid(65534);
      const server = require('node:http').createServer(({ headers }, response) => {
        if (headers.authorization) process.stdout.write('token\\n');
        response.writeHead(401, { 'standin-service': '${SERVICE}' }).end('{}');
      });
      server.listen(0, '127.0.0.1', () => process.stdout.write(server.address().port + '\\n'));
      process.stdin.on('end', () => process.exit()).resume();`;
      const foreign = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/' });
      const lines = createInterface({ input: foreign.stdout })[Symbol.asyncIterator]();
      const port = String((await lines.next()).value);
      const { code, stderr } = await usage(`http://127.0.0.1:${port}`);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining('Another user on this machine is listening there.') as string,
      });
      foreign.stdin.end();
      expect(await lines.next()).toMatchObject({ done: true });
    },
  );
});

describe('an explicit token', () => {
  test.each<[string, readonly string[], NodeJS.ProcessEnv]>([
    ['--token', ['--token', 'given'], {}],
    ['STANDIN_TOKEN', [], { STANDIN_TOKEN: 'given' }],
  ])('with %s is sent to this server and is not remembered', async (_what, args, more) => {
    await using server = await startHostileServer(dashboard());
    env = { ...env, ...more };
    expect(await usage(server.url, ...args)).toMatchObject({ code: 0, stderr: '' });
    expect(server.tokens()).toEqual(['Bearer given']);
    env = { ...env, STANDIN_TOKEN: '' };
    expect(await usage(server.url)).toMatchObject({ code: 1 });
    expect(server.tokens()).toEqual(['Bearer given']);
  });

  test('does not follow a redirect', async () => {
    await using other = await startHostileServer((_, response) => response.end('{}'));
    await using server = await startHostileServer((_, response) => {
      response.writeHead(307, { location: `${other.url}/api/v1/take` }).end();
    });
    for (const args of [['--token', 'given'], ['--trust-server'], []])
      expect((await usage(server.url, ...args)).stderr).toContain('unexpected redirect');
    expect(other.requests).toEqual([]);
  });
});

describe('plain http', () => {
  const HOSTS = ['127.0.0.1.nip.io', 'localhost.', 'localhost.example', '0.0.0.0', '[::]', '169.254.1.1'];
  test.each(HOSTS)('to %s is rejected before any request', async (host) => {
    await using server = await startHostileServer(dashboard());
    for (const args of [[], ['--trust-server'], ['--token', 'given']]) {
      const { code, stderr } = await usage(`http://${host}:${server.port}`, ...args);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `standin: --server http://${host}:${server.port} uses plain http: anyone on the network path can read the token and the traffic. Use https, or add --dangerously-allow-http\n`,
      });
    }
    expect(server.requests).toEqual([]);
  });

  test('is allowed with --dangerously-allow-http, but still requires consent', async () => {
    await using server = await startHostileServer(dashboard());
    const url = `http://0.0.0.0:${server.port}`;
    const { code, stderr } = await usage(url, '--dangerously-allow-http');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('Add --trust-server') as string });
    expect(server.tokens()).toEqual([]);
    expect(await usage(url, '--dangerously-allow-http', '--trust-server')).toMatchObject({ code: 0 });
    expect(server.tokens()).toEqual([MINE]);
  });
});

test('over https an unknown origin gets no token, whatever Service it claims to be', async () => {
  const tokens: unknown[] = [];
  const server = await startTlsUpstream((request, response) => {
    tokens.push(request.headers.authorization);
    dashboard('standin/standin-dashboard')(request, response);
  });
  await writeFile(path.join(folder, 'ca.crt'), server.ca);
  env = { ...env, NODE_EXTRA_CA_CERTS: path.join(folder, 'ca.crt') };
  expect(await usage(server.url)).toMatchObject({ code: 1 });
  expect(await usage(server.url, '--trust-server')).toMatchObject({ code: 0 });
  await server.close();
  expect(tokens).toEqual([undefined, undefined, MINE]);
});
