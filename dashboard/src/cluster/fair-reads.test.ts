import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SourceError } from '@standin/contract';
import { openLogStore } from '@standin/logstore';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { ClusterUser } from './cluster-user.ts';
import { testUser } from './cluster-user.testing.ts';
import { fairLinks, fairReads, type LogReads } from './fair-reads.ts';

const settled = () => new Promise(setImmediate);

/** Starts a log whose counts end only when the test ends them, and whose exports have three entries. */
const startReads = () => {
  const begun: (() => void)[] = [];
  const log = {
    replays: {},
    count: () => {
      const { promise, resolve } = Promise.withResolvers<number>();
      begun.push(() => resolve(1));
      return promise;
    },
    get: () => Promise.resolve(undefined),
    entries: async function* () {
      for (const id of ['a', 'b', 'c']) yield await Promise.resolve(id);
    },
  } as unknown as LogReads;
  const readsFor = fairReads(log);
  return { begun, as: (holder: string) => readsFor(testUser({}, { findHolder: () => Promise.resolve(holder) })) };
};

it('reads for other users while one user has many slow queries', async () => {
  const { begun, as } = startReads();
  const slow = Array.from({ length: 20 }, () => as('ada').count({ projectUid: 'uid' }));
  await settled();
  expect(begun).toHaveLength(5);
  expect(await as('bob').get('id')).toBeUndefined();
  for (const end of begun) end();
  await settled();
  expect(begun).toHaveLength(10);
  while (begun.length < 20) {
    for (const end of begun) end();
    await settled();
  }
  for (const end of begun) end();
  expect(await Promise.all(slow)).toHaveLength(20);
});

/** Starts a ClickHouse that counts, and whose responses to polls do not arrive. */
const startHangingPolls = async () => {
  let polls = 0;
  const server = createServer((request, response) => {
    void text(request).then((sql) => {
      if (sql.includes('inserted_at')) polls += 1;
      else response.end(Buffer.alloc(8));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const store = openLogStore({ url, username: 'standin', password: '', database: 'standin' });
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await store.close();
  });
  return { store, polls: () => polls };
};

it('reads for other users while one user follows many projects', async () => {
  const { store, polls } = await startHangingPolls();
  const readsFor = fairReads(store);
  const as = (holder: string) => readsFor(testUser({}, { findHolder: () => Promise.resolve(holder) }));
  for (let project = 0; project < 100; project += 1)
    as('ada').follow({ projectUid: `project-${project}`, pollIntervalMs: 1 });
  await vi.waitFor(() => expect(polls()).toBe(5));
  expect(await as('bob').count({ projectUid: 'uid' })).toBe(0);
  // A project that both follow is polled in the turn of the other user.
  as('bob').follow({ projectUid: 'project-99', pollIntervalMs: 1 });
  await vi.waitFor(() => expect(polls()).toBe(6));
});

it('reads for users while many links of one namespace wait for their requests', async () => {
  let queries = 0;
  const answered = Promise.withResolvers<undefined>();
  const log = {
    replays: {},
    row: () => Promise.resolve({ id: 'a' }),
    version: () => {
      queries += 1;
      return answered.promise;
    },
    get: () => Promise.resolve(undefined),
  } as unknown as LogReads;
  const readsFor = fairReads(log);
  const links = fairLinks(readsFor);
  const all = Array.from({ length: 64 }, () => links.version('id', 'team'));
  await settled();
  expect(queries).toBe(5);
  expect(await readsFor(testUser({})).get('id')).toBeUndefined();
  expect(await links.row('id', 'other')).toEqual({ id: 'a' });
  answered.resolve(undefined);
  await Promise.all(all);
});

it('takes no turn for an export whose client does not read', async () => {
  const { as } = startReads();
  const exports = Array.from({ length: 20 }, () => as('ada').entries([])[Symbol.asyncIterator]());
  for (const each of exports) expect(await each.next()).toEqual({ value: 'a', done: false });
  const rest: unknown[] = [];
  for await (const entry of { [Symbol.asyncIterator]: () => exports[0] as AsyncIterator<unknown> }) rest.push(entry);
  expect(rest).toEqual(['b', 'c']);
});

it('counts the memory of captured requests, and of an export that of one request', async () => {
  const held: number[] = [];
  const hold: ClusterUser['hold'] = (_, bytes) => {
    held.push(bytes);
    return Promise.resolve(() => held.push(-bytes));
  };
  const body = 'x'.repeat(1_000);
  const log = {
    replays: {},
    row: () => Promise.resolve({ id: 'a', status: 200, requestBody: Buffer.alloc(500), headers: [['b', 'c']] }),
    entries: async function* () {
      for (const id of ['a', 'b']) yield await Promise.resolve({ id, request: { body } });
    },
  } as unknown as LogReads;
  const reads = fairReads(log)(testUser({}, { hold }));
  await reads.row('a');
  expect(held.splice(0)).toEqual([503]);
  const entries = reads.entries([])[Symbol.asyncIterator]();
  await entries.next();
  await entries.next();
  expect(held).toEqual([1_001, -1_001, 1_001]);
});

it('counts the memory of a page of requests until the next page', async () => {
  const held: number[] = [];
  const hold: ClusterUser['hold'] = (_, bytes) => {
    held.push(bytes);
    return Promise.resolve(() => held.push(-bytes));
  };
  const pages = [[{ path: '/tail' }], [{ path: '/orders' }, { path: '/' }], [{ path: '/a' }]];
  const log = { replays: {}, summaries: () => Promise.resolve(pages.shift()) } as unknown as LogReads;
  const reads = fairReads(log)(testUser({}, { hold }));
  // A tail keeps nothing while it waits for the next insert.
  await reads.summaries({ insertedSince: new Date() } as never);
  await reads.summaries({} as never);
  await reads.summaries({ after: { id: 'a' } } as never);
  expect(held).toEqual([8, 2, -8]);
});

it('rejects like an unavailable log if the user has no memory left, so that pages and streams continue', async () => {
  const hold = () => Promise.reject(new SourceError('Unavailable', 'used up'));
  const log = {
    replays: { exchange: () => Promise.resolve({}) },
    get: () => Promise.resolve({}),
    row: () => Promise.resolve({}),
    preview: () => Promise.resolve({}),
    previews: () => Promise.resolve([]),
    requestBodies: () => Promise.resolve(new Map()),
    entries: async function* () {
      yield await Promise.resolve({});
    },
  } as unknown as LogReads;
  const reads = fairReads(log)(testUser({}, { hold }));
  const rejected = [
    reads.get('a'),
    reads.row('a'),
    reads.preview('a', 1),
    reads.previews([], 1),
    reads.requestBodies({} as never, 1),
    reads.replays.exchange({ projectUid: 'u', replay: 'r', id: 'a' } as never),
    reads.entries([])[Symbol.asyncIterator]().next(),
  ];
  for (const read of rejected)
    await expect(read).rejects.toMatchObject({
      name: 'LogStoreError',
      kind: 'retryable',
      code: 'EBUSY',
      message: 'used up',
    });
});
