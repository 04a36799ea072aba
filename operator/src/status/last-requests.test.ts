import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { LastRequests } from './last-requests.ts';

const MINUTE_MS = 60_000;
const START = Date.parse('2026-11-21T10:00:00.123Z');

/** Polls a log whose responses are given in turn. The last one repeats. */
const watch = (answers: readonly (ReadonlyMap<string, Date> | Error)[]) => {
  const asked: (number | undefined)[] = [];
  const changed: string[] = [];
  const requests: LastRequests = new LastRequests({
    logStore: {
      lastRequests: (within) => {
        asked.push(within);
        const answer = answers[Math.min(asked.length, answers.length) - 1] ?? new Map<string, Date>();
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    },
    onChange: (uid) => changed.push(`${uid} ${requests.at(uid)}`),
    logger: pino({ level: 'silent' }),
    pollMs: 1,
  });
  onTestFinished(() => requests.stop());
  requests.start();
  return { requests, asked, changed };
};

test('reports the first request, and later ones only after ten minutes', async () => {
  const at = (minutes: number) => new Map([['shop', new Date(START + minutes * MINUTE_MS)]]);
  const { asked, changed, requests } = watch([at(0), at(9), at(10), at(3)]);
  await expect.poll(() => asked.length).toBeGreaterThan(4);
  expect(changed).toEqual(['shop 2026-11-21T10:00:00Z', 'shop 2026-11-21T10:10:00Z']);
  expect(requests.at('other')).toBeUndefined();
});

test('reads the whole log once, and then only what was inserted since the last success', async () => {
  const { asked } = watch([new Error('unavailable'), new Map()]);
  await expect.poll(() => asked.length).toBeGreaterThan(3);
  expect(asked.slice(0, 2)).toEqual([undefined, undefined]);
  for (const within of asked.slice(2)) expect(within).toBeGreaterThanOrEqual(MINUTE_MS);
});

test('does not report after the term', async () => {
  const { promise, resolve } = Promise.withResolvers<ReadonlyMap<string, Date>>();
  const changed: string[] = [];
  const logStore = { lastRequests: () => promise };
  const logger = pino({ level: 'silent' });
  const requests = new LastRequests({ logStore, onChange: (uid) => changed.push(uid), logger });
  requests.start();
  await requests.stop();
  resolve(new Map([['shop', new Date(START)]]));
  await promise;
  await Promise.resolve();
  expect(changed).toEqual([]);
});
