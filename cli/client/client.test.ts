import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connect, StandinAssertionError, StandinError } from './index.ts';

type Respond = (call: string, response: ServerResponse) => void;

/** Connects to a server, and notes the calls to it. `NAME` stands for generated names. */
const connectTo = async (respond: Respond) => {
  const calls: string[] = [];
  const server = createServer(({ method, url }: IncomingMessage, response) => {
    const path = url?.replace('/api/v1/namespaces/default', '').replaceAll(/test-[0-9a-f]{10}/g, 'NAME');
    const call = `${method} ${path}`;
    calls.push(call);
    respond(call, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { standin: await connect({ url, token: 'token' }), calls };
};

const json = (response: ServerResponse, status: number, body: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

test.each<[string, (response: ServerResponse) => void, Partial<StandinError>]>([
  [
    'a problem',
    (response) => json(response, 404, { code: 'project_not_found', status: 404, detail: 'There is no shop.' }),
    { code: 'project_not_found', status: 404, message: 'There is no shop.' },
  ],
  [
    'the login page of a proxy',
    (response) => response.end('<html>Sign in</html>'),
    { code: '', status: 200, message: 'the server responded with 200: <html>Sign in</html>' },
  ],
  [
    'the JSON of another server',
    (response) => json(response, 502, { message: 'bad gateway' }),
    { code: '', status: 502, message: 'the server responded with 502: {"message":"bad gateway"}' },
  ],
  ['null', (response) => json(response, 500, null), { status: 500, message: 'the server responded with 500: null' }],
  [
    'a response that is cut',
    (response) => response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy()),
    { code: '', status: 0, message: expect.stringContaining('does not respond. Is Standin running?') as string },
  ],
])('%s is a StandinError', async (_what, respond, expected) => {
  const { standin } = await connectTo((_call, response) => respond(response));
  const error: unknown = await standin
    .project('default', 'shop')
    .count()
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StandinError);
  expect(error).toMatchObject(expected);
});

test('an assertion that does not hold has its failures', async () => {
  const failures = [{ kind: 'else', count: 1 }];
  const problem = { code: 'assertion_failed', status: 409, detail: 'found 1', failures };
  const { standin } = await connectTo((_call, response) => json(response, 409, problem));
  const error: unknown = await standin
    .project('default', 'shop')
    .assert([], { nothingElse: true })
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StandinAssertionError);
  expect(error).toMatchObject({ message: 'found 1', failures, status: 409 });
});

const CREATED = { isReady: true, url: 'http://localhost/uri', message: '' };
const FORBIDDEN = { code: 'forbidden', status: 403, detail: 'You may not.' };

test.each<[string, Respond, string]>([
  [
    'whose key cannot be read',
    (call, response) => (call.startsWith('POST') ? json(response, 201, CREATED) : json(response, 403, FORBIDDEN)),
    'You may not.',
  ],
  [
    'that is not ready',
    (_call, response) => json(response, 201, { ...CREATED, isReady: false, message: 'No account.' }),
    'the project did not become ready: No account.',
  ],
  ['whose response is lost', (_call, response) => response.destroy(), 'does not respond'],
])('a project %s is deleted', async (_what, respond, message) => {
  const { standin, calls } = await connectTo(respond);
  await expect(standin.createProject({ endpoints: [] })).rejects.toThrow(message);
  expect(calls.at(0)).toBe('POST /projects');
  expect(calls.at(-1)).toBe('DELETE /projects/NAME');
});

test('a project that the test has deleted can be disposed', async () => {
  const { standin, calls } = await connectTo((call, response) => {
    if (!call.startsWith('DELETE')) json(response, 200, { ...CREATED, apiKey: 'key' });
    else if (calls.filter((one) => one === call).length === 1) response.writeHead(204).end();
    else json(response, 404, { code: 'project_not_found', status: 404, detail: 'It does not exist.' });
  });
  const create = () => standin.createProject({ endpoints: [] });
  {
    await using project = await create();
    await project.delete();
  }
  expect(calls.filter((call) => call.startsWith('DELETE'))).toHaveLength(2);
});
