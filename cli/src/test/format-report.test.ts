import { testEntry } from '@standin/exchange/entry-testing';
import { expect, test } from 'vitest';
import { different } from './compare-response.ts';
import { reportAsMarkdown } from './format-report.ts';
import { ReportBuilder } from './report.ts';

/** Returns a report with changes of several endpoints. */
const report = (endpoints: number) => {
  const builder = new ReportBuilder();
  for (let index = 0; index < endpoints; index += 1)
    builder.add({ ...testEntry({}), endpoint: `endpoint-${index}` }, different(['ü'.repeat(400)]));
  return builder.report();
};

test('a report in Markdown is at most 1 MiB long, as GitHub shows no longer one', () => {
  const [small, large] = [report(100), report(2_000)].map(reportAsMarkdown);
  expect(small).toContain('| endpoint-99 ');
  expect(small).not.toContain('too long');
  expect(Buffer.byteLength(large ?? '')).toBeLessThan(2 ** 20);
  expect(large).toContain('| endpoint-1999 ');
  expect(large).toMatch(/<\/details>\n\n\nThe rest of the report is too long for this page.\n$/);
});
