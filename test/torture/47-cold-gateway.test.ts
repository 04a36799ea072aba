import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOSTILE_MOCKS } from '../../gateway/src/respond/hostile-mocks.testing.ts';
import { watchEventLoop, type EventLoopWatch } from '../harness/watch-event-loop.ts';
import { ask } from './raw-client.ts';
import { Stand } from './stand.ts';

/**
 * Torture test 47: the most expensive requests, each as the first request of a new gateway process, whose code is not optimized yet.
 */

/** The maximum CPU time for which a request may block the event loop. */
const BLOCKED_MS_MAX = 50;

let stand: Stand;
let watch: EventLoopWatch;

/** Each test has an endpoint that has had no request. */
const mockSlug = (index: number): string => `/mock-${index}/{id}`;

beforeAll(async () => {
  watch = await watchEventLoop();
  const { nodeArgs, env } = watch;
  stand = await Stand.start({ nodeArgs, env });
  const rejected = await stand.publish(
    ...HOSTILE_MOCKS.map(({ config: { action, responses = [] } }, index) => {
      if (action.kind !== 'JSON') throw new Error('this is not a mock');
      return { slug: mockSlug(index), method: 'POST' as const, action, responses };
    }),
  );
  expect([...rejected]).toEqual([]);
}, 180_000);
afterAll(() => stand[Symbol.asyncDispose]());

test.each(HOSTILE_MOCKS.map((mock, index) => ({ ...mock, index })))(
  'the first request does not block a new gateway: $name',
  async ({ index, query, body, contentType }) => {
    await stand.gateway.restart();
    await stand.gateway.waitForUrl(`http://127.0.0.1:${stand.adminPort}/readyz`, 60_000);
    const target = `/${stand.own.uri}${mockSlug(index).replace('{id}', '1')}?${query}`;
    const head = stand.head('POST', target, [
      ['content-type', contentType],
      ['content-length', String(body.length)],
      ['a', ''],
    ]);
    const blocked = await watch.longestDuring(stand.gateway, async () => {
      const answer = await ask(stand.port, Buffer.from(head + body, 'latin1'));
      expect(answer?.status).toBeOneOf([200, 500]);
    });
    expect(blocked).toBeLessThan(BLOCKED_MS_MAX);
  },
);
