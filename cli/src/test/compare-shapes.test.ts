import { usedBytes } from '@standin/egress/testing';
import { testEntry } from '@standin/exchange/entry-testing';
import { expect, test } from 'vitest';
import { ShapeComparison } from './compare-shapes.ts';
import { Ignored } from './ignored.ts';
import { ReportBuilder } from './report.ts';

const JSON_TYPE = ['content-type', 'application/json'] as const;
const ENDPOINTS = 200;
const BODY_BYTES = 300_000;

test('the bodies of captured responses are not kept', () => {
  const [comparison, builder] = [new ShapeComparison(new Ignored()), new ReportBuilder()];
  const before = usedBytes();
  for (let index = 0; index < 2 * ENDPOINTS; index += 1) {
    const responseBody = JSON.stringify({ id: index, text: 'x'.repeat(BODY_BYTES) });
    const entry = {
      ...testEntry({ responseHeaders: [JSON_TYPE], responseBody }),
      endpoint: `endpoint-${index % ENDPOINTS}`,
    };
    const mock = {
      kind: 'Mock',
      status: entry.response.status,
      headers: [JSON_TYPE],
      body: Buffer.from('{}'),
    } as const;
    comparison.add(entry, mock, builder);
  }
  expect(usedBytes() - before).toBeLessThan((ENDPOINTS * BODY_BYTES) / 2);
  comparison.finish(builder);
  expect(builder.report().cases).toHaveLength(ENDPOINTS);
});
