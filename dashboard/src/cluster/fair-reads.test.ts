import { expect, it } from 'vitest';
import { fairReads, type LogReads } from './fair-reads.ts';

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
  return { begun, as: (holder: string) => readsFor(() => Promise.resolve(holder)) };
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

it('takes no turn for an export whose client does not read', async () => {
  const { as } = startReads();
  const exports = Array.from({ length: 20 }, () => as('ada').entries([])[Symbol.asyncIterator]());
  for (const each of exports) expect(await each.next()).toEqual({ value: 'a', done: false });
  const rest: unknown[] = [];
  for await (const entry of { [Symbol.asyncIterator]: () => exports[0] as AsyncIterator<unknown> }) rest.push(entry);
  expect(rest).toEqual(['b', 'c']);
});
