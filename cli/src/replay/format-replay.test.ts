import { expect, test } from 'vitest';
import { formatFilterPlan } from './format-replay.ts';
import { checkSpec } from './replay-spec.ts';

test('a filter without matches has a plan that says so', () => {
  const spec = checkSpec({
    projectRef: { name: 'shop' },
    filter: { from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z', limit: 100 },
    target: { kind: 'Endpoint' },
    ...{ ratePerSecond: 10, order: 'Any', state: 'Running' },
  });
  expect(formatFilterPlan({ count: 0, first: [] }, spec)).toEqual(['No captured request matches. Nothing to send.']);
  expect(formatFilterPlan({ count: 20, first: [] }, spec)[0]).toBe(
    '20 requests to its endpoint, through the gateway, 10 a second: about 2.0 s',
  );
});
