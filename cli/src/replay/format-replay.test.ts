import { testEntry } from '@standin/exchange/entry-testing';
import { expect, test } from 'vitest';
import { formatFilterPlan, formatResponse } from './format-replay.ts';
import { checkSpec } from './replay-spec.ts';

type Replayed = Parameters<typeof formatResponse>[0];

test('the plan for a filter without matches states that there is nothing to send', () => {
  const spec = checkSpec({
    projectRef: { name: 'shop' },
    filter: { from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z', limit: 100 },
    target: { kind: 'Endpoint' },
    ratePerSecond: 10,
    order: 'Any',
    state: 'Running',
  });
  expect(formatFilterPlan({ count: 0, first: [] }, spec)).toEqual([
    'No captured request matches, so nothing was sent.',
  ]);
  expect(formatFilterPlan({ count: 20, first: [] }, spec)[0]).toBe(
    '20 requests to their original endpoints, through the gateway, 10 per second: about 2.0 s',
  );
});

const REPLAYED = { error: '' } as Partial<Replayed> as Replayed;

test.each([
  [
    'a text',
    { body: 'aü€', bodyEncoding: 'utf8', truncated: true },
    '201 in 1.5 s, 900 bytes, of which 6 bytes are stored',
  ],
  [
    'binary data',
    { body: '/////w==', bodyEncoding: 'base64', truncated: true },
    '201 in 1.5 s, 900 bytes, of which 4 bytes are stored',
  ],
  ['a whole body', { body: 'a', bodyEncoding: 'utf8', truncated: false }, '201 in 1.5 s, 900 bytes'],
] as const)('a response is described with the sizes of %s', (_, body, described) => {
  const captured = testEntry({});
  const response = { ...captured.response, ...body, bodyBytes: 900 };
  const replayed = { ...REPLAYED, status: 201, durationMs: 1_500, response };
  expect(formatResponse(replayed, captured)).toEqual([`${described} (captured: 200, 12.0 ms)`]);
});

test('a response that was not received is described with its error', () => {
  const replayed = { ...REPLAYED, status: 0, error: 'refused' };
  expect(formatResponse(replayed, { ...testEntry({}), status: 0 })).toEqual([
    'no response: refused (captured: no response, 12.0 ms)',
  ]);
});
