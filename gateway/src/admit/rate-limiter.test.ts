import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  account,
  endpoint,
  HOST,
  KEY,
  OTHER_KEY,
  PATH,
  project,
  request,
  startTestGateway,
  URI,
  WITH_KEY,
} from '../gateway.testing.ts';
import { exchange, rejectionCode, responseHeader } from '../raw-client.testing.ts';
import { RateLimiter } from './rate-limiter.ts';

const limited = (requestsPerSecond: number, name = 'own') => ({ ...account(name, KEY), requestsPerSecond });

/** Returns a limiter, and a function that returns how many of `count` requests of the account are admitted at that time. */
const limiterAt = () => {
  let nowMs = 0;
  const limiter = new RateLimiter(() => nowMs);
  const admitted = (atMs: number, of: Parameters<RateLimiter['admit']>[0], count: number): number => {
    nowMs = atMs;
    return Array.from({ length: count }, () => limiter.admit(of)).filter((refusal) => refusal === undefined).length;
  };
  return { limiter, admitted };
};

test('a burst is as large as the limit, and tokens return evenly', () => {
  const { admitted } = limiterAt();
  expect([0, 50, 100, 350, 10_000].map((atMs) => admitted(atMs, limited(10), 30))).toEqual([10, 0, 1, 2, 10]);
});

const elsewhere = { ...limited(2, 'other'), namespace: 'team-b' };

test('namespaces do not share tokens, and accounts without a limit need none', () => {
  const { limiter, admitted } = limiterAt();
  expect(admitted(0, limited(2), 5)).toBe(2);
  expect(admitted(0, elsewhere, 5)).toBe(2);
  expect(admitted(0, account('free', KEY), 5)).toBe(5);
  // One for each account and each namespace.
  expect(limiter.size).toBe(4);
});

test('the accounts of a namespace together get the highest limit of those in use', () => {
  const { admitted } = limiterAt();
  expect(Array.from({ length: 20 }, (_, index) => admitted(0, limited(10, `a${index}`), 3))).toEqual([
    ...[3, 3, 3, 1],
    ...Array<number>(16).fill(0),
  ]);
  expect(admitted(0, elsewhere, 5)).toBe(2);
  expect(admitted(1_000, limited(4, 'low'), 20)).toBe(4);
  expect(admitted(1_000, limited(10, 'high'), 20)).toBe(6);
});

test('another limit applies to the next request, without a new burst', () => {
  const { admitted } = limiterAt();
  expect(admitted(0, limited(100), 90)).toBe(90);
  expect(admitted(0, limited(5), 20)).toBe(5);
  expect(admitted(0, limited(1_000), 20)).toBe(0);
  expect(admitted(10, limited(1_000), 20)).toBe(10);
});

test('never admits more than the limit for each second and one burst', () => {
  const steps = fc.array(fc.record({ pauseMs: fc.double({ min: 0, max: 5_000, noNaN: true }), count: fc.nat(40) }), {
    minLength: 1,
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), steps, (limit, requests) => {
      const { admitted } = limiterAt();
      const seen: { readonly atMs: number; readonly count: number }[] = [];
      let atMs = 0;
      for (const { pauseMs, count } of requests) {
        atMs += pauseMs;
        seen.push({ atMs, count: admitted(atMs, limited(limit), count) });
      }
      for (const [from, first] of seen.entries()) {
        let total = 0;
        for (const { atMs: untilMs, count } of seen.slice(from)) {
          total += count;
          expect(total).toBeLessThanOrEqual(limit + (limit * (untilMs - first.atMs)) / 1_000 + 1e-6);
        }
      }
    }),
  );
});

test('buckets are removed when they are full', () => {
  const { limiter, admitted } = limiterAt();
  for (let n = 0; n < 1_000; n++) admitted(n, { ...limited(1, `a${n}`), namespace: `team-${n}` }, 1);
  admitted(9_500, limited(1, 'b'), 1);
  expect(limiter.size).toBe(2_002);
  // Removing a bucket that is not full would give the account more tokens.
  expect(admitted(10_000, limited(1, 'b'), 1)).toBe(0);
  expect(limiter.size).toBe(2);
});

test('the gateway refuses requests above the limit with 429, does not record them, and counts them with their path', async () => {
  const rejected: unknown[] = [];
  await using stand = await startTestGateway({
    objects: [
      limited(1),
      account('other', OTHER_KEY),
      project('shop', URI),
      project('theirs', 'theirs0123456789', 'other'),
      endpoint('/v1/orders'),
      endpoint('/v1/theirs', {}, { projectUid: 'project-theirs' }),
    ],
    onRejected: ({ code, path }) => rejected.push([code, path]),
  });
  const ask = (path: string, lines: readonly string[]) =>
    exchange(stand.gateway.url, request('POST', path, [HOST, ...lines]));
  const responses = await Promise.all(Array.from({ length: 5 }, () => ask(PATH, [WITH_KEY])));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429, 429]);
  const refused = responses.find(({ status }) => status === 429);
  expect(refused && [rejectionCode(refused), responseHeader(refused, 'retry-after')]).toEqual(['rate_limited', '1']);
  expect(JSON.parse(refused?.body.toString() ?? '')).toMatchObject({ status: 429, code: 'rate_limited', limit: 1 });
  expect(rejected).toEqual(Array(4).fill(['rate_limited', PATH]));
  const theirs = [`x-api-key: ${OTHER_KEY}`];
  const others = await Promise.all(Array.from({ length: 5 }, () => ask('/theirs0123456789/v1/theirs', theirs)));
  expect(others.map(({ status }) => status)).toEqual(Array(5).fill(200));
  await expect.poll(async () => (await ask(PATH, [WITH_KEY])).status, { timeout: 10_000, interval: 200 }).toBe(200);
  await stand.gateway.stop();
  expect(stand.sink.rows).toHaveLength(7);
});
