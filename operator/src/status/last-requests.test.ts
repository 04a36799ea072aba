import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { LastRequest } from '@standin/logstore';
import { LastRequests } from './last-requests.ts';

const MINUTE_MS = 60_000;
const SHOP = { uid: 'uid-1', namespace: 'default', name: 'shop' };
const START = Date.parse('2026-11-21T10:00:00.123Z');

/** Polls a log that returns the given answers in turn. The last answer is repeated. */
const watch = (answers: readonly (readonly LastRequest[] | Error)[], projectsMax?: number) => {
  const asked: (number | undefined)[] = [];
  const changed: string[] = [];
  const requests: LastRequests = new LastRequests({
    logStore: {
      lastRequests: (within) => {
        asked.push(within);
        const answer = answers[Math.min(asked.length, answers.length) - 1] ?? [];
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    },
    onChange: (uid) => changed.push(`${uid} ${requests.at(SHOP)}`),
    logger: pino({ level: 'silent' }),
    pollMs: 1,
    projectsMax,
  });
  onTestFinished(() => requests.stop());
  requests.start();
  return { requests, asked, changed };
};

test('reports the first request, and later ones only after ten minutes', async () => {
  const at = (minutes: number) => [{ ...SHOP, receivedAt: new Date(START + minutes * MINUTE_MS) }];
  const { asked, changed, requests } = watch([at(0), at(9), at(10), at(3)]);
  await expect.poll(() => asked.length).toBeGreaterThan(4);
  expect(changed).toEqual(['uid-1 2026-11-21T10:00:00Z', 'uid-1 2026-11-21T10:10:00Z']);
  expect(requests.at({ ...SHOP, uid: 'other' })).toBeUndefined();
});

test.each([{ namespace: 'other' }, { name: 'other' }])(
  'ignores requests of its uid under other names: %j',
  async (other) => {
    const late = { ...SHOP, ...other, receivedAt: new Date(START + 60 * MINUTE_MS) };
    const { asked, requests } = watch([[{ ...SHOP, receivedAt: new Date(START) }, late]]);
    await expect.poll(() => asked.length).toBeGreaterThan(1);
    expect(requests.at(SHOP)).toBe('2026-11-21T10:00:00Z');
  },
);

test('forgets the deleted projects of a namespace before the projects of others', async () => {
  const receivedAt = new Date(START);
  const deleted = Array.from({ length: 10 }, (_, index) => ({
    uid: `deleted-${index}`,
    namespace: 'busy',
    name: `shop-${index}`,
  }));
  const all = [SHOP, ...deleted];
  const { asked, requests } = watch([all.map((project) => ({ ...project, receivedAt })), []], 4);
  await expect.poll(() => asked.length).toBeGreaterThan(1);
  const known = all.filter((project) => requests.at(project) !== undefined).map(({ uid }) => uid);
  expect(known).toEqual(['uid-1', 'deleted-7', 'deleted-8', 'deleted-9']);
});

test('reads the whole log once, and then only what was inserted since the last success', async () => {
  const { asked } = watch([new Error('unavailable'), []]);
  await expect.poll(() => asked.length).toBeGreaterThan(3);
  expect(asked.slice(0, 2)).toEqual([undefined, undefined]);
  for (const within of asked.slice(2)) expect(within).toBeGreaterThanOrEqual(MINUTE_MS);
});

test('does not report after the term', async () => {
  const { promise, resolve } = Promise.withResolvers<readonly LastRequest[]>();
  const changed: string[] = [];
  const logStore = { lastRequests: () => promise };
  const logger = pino({ level: 'silent' });
  const requests = new LastRequests({ logStore, onChange: (uid) => changed.push(uid), logger });
  requests.start();
  await requests.stop();
  resolve([{ ...SHOP, receivedAt: new Date(START) }]);
  await promise;
  await Promise.resolve();
  expect(changed).toEqual([]);
});
