import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { clientFor, FakeApiServer, json } from '@standin/kube/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { clusterUsers } from './cluster-user.ts';
import { UnsentError } from '../unsent-error.ts';
import { listIn } from './read-objects.ts';

let server: FakeApiServer;
let users: ReturnType<typeof clusterUsers>;
/** The responses to `/slow`, in the order of the requests. */
let held: ServerResponse[];

const ENDPOINTS = 10_000;
const ENDPOINT = JSON.stringify({
  metadata: { namespace: 'a', name: 'orders', uid: randomUUID(), resourceVersion: '1', creationTimestamp: '' },
  spec: {
    projectRef: { name: 'shop' },
    slug: '/orders',
    method: 'POST',
    action: 'JSON',
    json: { body: 'x'.repeat(4_500) },
  },
  status: {
    url: 'http://localhost/orders',
    conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }],
  },
});
const endpointPage = (limit: number, first: number): string => {
  const next = Math.min(ENDPOINTS, first + limit);
  const items = Array.from({ length: next - first }, () => ENDPOINT).join();
  const metadata = { resourceVersion: '1', continue: next < ENDPOINTS ? String(next) : '' };
  return `{"metadata":${JSON.stringify(metadata)},"items":[${items}]}`;
};

beforeEach(async () => {
  held = [];
  server = new FakeApiServer(({ path, query }, response) => {
    if (path === '/slow') held.push(response);
    else if (path.endsWith('/mockendpoints'))
      response.end(endpointPage(Number(query.get('limit')), Number(query.get('continue'))));
    else json(response, 200, {});
  });
  await server.start();
  users = clusterUsers(clientFor(server).config);
});
afterEach(async () => {
  await server.stop();
  await users.close();
});

/** Starts a request of a user. */
const request = (holder: string) => {
  const left = new AbortController();
  const user = users.as(holder, { findHolder: () => Promise.resolve(holder), signal: left.signal });
  return { ...user, leave: () => left.abort() };
};
const quietly = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);
const readSlowly = ({ client, signal }: ReturnType<typeof request>): Promise<unknown> =>
  quietly(client.get('/slow', { signal }));

it('one user has half of the connections, so that others are served', async () => {
  const slow = Array.from({ length: 50 }, () => readSlowly(request('ada')));
  await expect.poll(() => held.length).toBe(8);
  await request('bob').client.get('/x');
  expect(held).toHaveLength(8);
  const release = (): void => {
    for (const response of held) if (!response.writableEnded) json(response, 200, {});
  };
  await expect.poll(() => (release(), held.length)).toBe(50);
  release();
  await Promise.all(slow);
});

it('the reads of a user who leaves end, whether they run or wait', async () => {
  const requests = Array.from({ length: 50 }, () => request('ada'));
  const reads = requests.map(readSlowly);
  await expect.poll(() => held.length).toBe(8);
  for (const { leave } of requests) leave();
  expect(await Promise.all(reads)).toEqual(requests.map(({ signal }) => signal.reason as unknown));
  await expect.poll(() => held.every(({ destroyed }) => destroyed)).toBe(true);
  await request('ada').client.get('/x');
  expect(held).toHaveLength(8);
});

it('a write that waits is not sent if its user leaves', async () => {
  const slow = Array.from({ length: 8 }, () => request('ada'));
  const reads = slow.map(readSlowly);
  await expect.poll(() => held.length).toBe(8);
  const writer = request('ada');
  const write = quietly(writer.client.create('/x', {}));
  await nextTurn();
  writer.leave();
  expect(await write).toBe(writer.signal.reason);
  for (const { leave } of slow) leave();
  await Promise.all(reads);
  await request('ada').client.get('/x');
  expect(server.count('POST')).toBe(0);
});

it('a write that is refused before it is sent is known to be unsent', async () => {
  const refused = async (before: number) => {
    const user = request(`ada ${before}`);
    for (let sent = 0; sent < before; sent += 1) await user.client.create('/x', {});
    const slow = Array.from({ length: 3_000 }, () => readSlowly(user));
    const error = await quietly(user.client.create('/x', {}));
    user.leave();
    for (const response of held.splice(0)) json(response, 200, {});
    await Promise.all(slow);
    return error;
  };
  expect(await refused(0)).toBeInstanceOf(UnsentError);
  const later = await refused(1);
  expect(later).toMatchObject({ kind: 'Unavailable' });
  expect(later).not.toBeInstanceOf(UnsentError);
});

it('a request that has begun to write is carried out, even if its user leaves', async () => {
  const user = request('ada');
  const { client, signal, leave } = user;
  const write = client.create('/slow', {});
  await expect.poll(() => held.length).toBe(1);
  leave();
  json(held[0] as ServerResponse, 201, { made: true });
  expect(await write).toEqual({ made: true });
  await client.get('/x', { signal });
  await user.hold('objects', 1_000);
  await user.holdList();
  await client.create('/x', {});
  expect(server.count('POST')).toBe(2);
});

it('two pages of a user can list 10,000 Endpoints of 5 KB, and a third waits until one of them is encoded', async () => {
  const pages = [request('ada'), request('ada')];
  const lists = await Promise.all(pages.map((page) => listIn(page, 'Endpoint', 'a')));
  expect(lists.map(({ length }) => length)).toEqual([ENDPOINTS, ENDPOINTS]);
  let isDone = false;
  const third = listIn(request('ada'), 'Endpoint', 'a').finally(() => (isDone = true));
  // A list of another user is not slowed down.
  expect(await listIn(request('bob'), 'Endpoint', 'a')).toHaveLength(ENDPOINTS);
  expect(isDone).toBe(false);
  pages[0]?.leave();
  expect(await third).toHaveLength(ENDPOINTS);
}, 60_000);

it('a request that alone needs more than the share of a user is not asked to try again', async () => {
  const ada = request('ada');
  await ada.hold('objects', 20 * 1024 * 1024);
  const message =
    'this request needs more memory for objects than one user can have: remove objects, or ask for those of one namespace only';
  await expect(ada.hold('objects', 10 * 1024 * 1024)).rejects.toMatchObject({ kind: 'Unavailable', message });
});

it('one user has half of the memory for objects, until the responses are sent', async () => {
  const half = 24 * 1024 * 1024;
  const first = request('ada');
  await first.hold('objects', half);
  const message = 'your requests have used up your share of the memory for objects: try again in a few seconds';
  await expect(request('ada').hold('objects', 1)).rejects.toMatchObject({ kind: 'Unavailable', message });
  await request('bob').hold('objects', half / 2);
  first.leave();
  const release = await request('ada').hold('objects', half / 2);
  release();
  release();
  await request('ada').hold('objects', half / 2);
  await request('ada').hold('captured requests', 64 * 1024 * 1024);
});

it('work that occupies the process is done in turns of the event loop, and users take turns', async () => {
  const done: string[] = [];
  const ada = request('ada');
  const works = Array.from({ length: 5 }, () => ada.step(() => done.push('ada')));
  works.push(request('bob').step(() => done.push('bob')));
  await nextTurn();
  await nextTurn();
  expect(done.length).toBeLessThan(4);
  await Promise.all(works);
  expect(done.indexOf('bob')).toBeLessThan(4);
});
