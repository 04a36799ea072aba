import { expect, test } from 'vitest';
import { formatFilterPlan } from './format-replay.ts';
import { checkSpec } from './replay-spec.ts';

test('the plan for a filter without matches states that there is nothing to send', () => {
  const spec = checkSpec({
    projectRef: { name: 'shop' },
    filter: { from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z', limit: 100 },
    target: { kind: 'Endpoint' },
    ...{ ratePerSecond: 10, order: 'Any', state: 'Running' },
  });
  expect(formatFilterPlan({ count: 0, first: [] }, spec)).toEqual([
    'No captured request matches, so nothing was sent.',
  ]);
  expect(formatFilterPlan({ count: 20, first: [] }, spec)[0]).toBe(
    '20 requests to their original endpoints, through the gateway, 10 per second: about 2.0 s',
  );
});
