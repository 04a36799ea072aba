import { printable } from '@standin/contract';
import { wireText } from '@standin/exchange/formats';
import { countText } from '../count-text.ts';
import { formatJson, styled, type Line } from '../terminal.ts';
import { SKIP_REASONS } from './compare-response.ts';
import { isUnseen, skippedCount, type Difference, type Report, type TestCase } from './report.ts';

/** The formats of a report. Each returns the same text for the same report. */
export const REPORT_FORMATS = ['text', 'json', 'junit', 'markdown'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** A format, and the file that the report is written to. Without a file, it is printed. */
export interface ReportOutput {
  readonly format: ReportFormat;
  readonly file: string | undefined;
}

export const reportAsText = (report: Report): readonly Line[] => [
  ...report.cases.flatMap((one) => [caseLine(one), ...one.differences.flatMap(differenceLines), ...noteLines(one)]),
  ...(report.cases.length === 0 ? [] : ['']),
  summary(report),
];

export const reportAsJson = ({ cases, ...totals }: Report): string => {
  const shown = cases.map((one) => ({ ...one, skipped: Object.fromEntries(one.skipped) }));
  return `${formatJson({ ...totals, cases: shown }, 2)}\n`;
};

/** One test case for each endpoint and response, or for each operation, in the format that CI systems read. */
export const reportAsJunit = (report: Report): string => {
  const suites = [...Map.groupBy(report.cases, suiteName)];
  const lines = suites.flatMap(([name, cases]) => {
    const failures = cases.filter(({ different }) => different > 0).length;
    return [
      `  <testsuite name="${xml(name)}" tests="${cases.length}" failures="${failures}" errors="0" skipped="${cases.filter(isSkipped).length}">`,
      ...cases.flatMap((one) => testCaseXml(name, one)),
      '  </testsuite>',
    ];
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites name="standin test">',
    ...lines,
    '</testsuites>',
    '',
  ].join('\n');
};

/** GitHub shows no summary of more than 1 MiB (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands). */
const MARKDOWN_BYTES_MAX = 1_000_000;

/** A summary for people, such as for `$GITHUB_STEP_SUMMARY`. Leaves out what it has no room for. */
export const reportAsMarkdown = (report: Report): string => {
  const [first] = report.cases;
  const columns =
    first !== undefined && 'contract' in first ? ['Contract', 'Operation'] : ['Project', 'Endpoint', 'Response'];
  const rows = report.cases.map(
    (one) =>
      `| ${[suiteName(one), ...caseNames(one)].map(cell).join(' | ')} | ${one.same} | ${one.different} | ${skippedCount(one)} |`,
  );
  const details = report.cases
    .filter(({ different, ignored }) => different > 0 || ignored !== undefined)
    .map((one) => markdownDetails(one).join('\n'));
  const parts = [
    `**standin test**: ${summary(report)}\n`,
    ...(rows.length === 0
      ? []
      : [
          `| ${columns.join(' | ')} | Same | Different | Skipped |`,
          `|${' --- |'.repeat(columns.length)} ---: | ---: | ---: |`,
          ...rows,
          '',
        ]),
    ...details,
  ];
  let bytes = 0;
  const shown = parts.filter((part) => (bytes += Buffer.byteLength(part) + 1) <= MARKDOWN_BYTES_MAX);
  const isCut = shown.length < parts.length;
  return [...shown, ...(isCut ? ['', 'The rest of the report is too long for this page.', ''] : [])].join('\n');
};

const suiteName = (one: TestCase): string => ('contract' in one ? one.contract : `${one.namespace}/${one.project}`);

const caseNames = (one: TestCase): readonly string[] =>
  'contract' in one ? [one.operation] : [one.endpoint, one.response];

const title = (one: TestCase): string => [suiteName(one), ...caseNames(one)].join(' ');

const isSkipped = ({ same, different }: TestCase): boolean => same + different === 0;

const counts = (one: TestCase): string =>
  [
    ...(isUnseen(one) ? ['no captured requests'] : []),
    ...(one.same > 0 ? [`${one.same} same`] : []),
    ...(one.different > 0 ? [`${one.different} different`] : []),
    ...[...one.skipped].map(([reason, count]) => `${count} skipped (${SKIP_REASONS[reason]})`),
  ].join(', ');

const caseLine = (one: TestCase): Line => [
  one.different > 0 ? styled('red', '✗ ') : isSkipped(one) ? styled('dim', '- ') : styled('green', '✓ '),
  `${title(one)}: ${counts(one)}`,
];

const requestLine = ({ id, request, receivedAt }: Difference): string =>
  `${wireText(request).text}  ${id}  ${receivedAt}`;

const differenceLines = (difference: Difference): readonly Line[] => [
  ['    ', styled('bold', requestLine(difference))],
  ...difference.changes.map((change) => `      ${change}`),
];

const hidden = ({ different, differences }: TestCase): readonly string[] =>
  different > differences.length
    ? [`${countText(different - differences.length, 'more request')} with differences`]
    : [];

const mendedLines = ({ mended = [] }: TestCase): readonly string[] =>
  mended.length === 0 ? [] : ['spec.json with the newest captured response:', ...mended.map((line) => `  ${line}`)];

const ignoredLines = ({ ignored = [] }: TestCase): readonly string[] =>
  ignored.length === 0 ? [] : [`ignored: ${ignored.map(({ part, reason }) => `${part} (${reason})`).join(', ')}`];

const noteLines = (one: TestCase): readonly Line[] =>
  [...hidden(one), ...ignoredLines(one), ...mendedLines(one)].map((text) => `    ${text}`);

const summary = ({ requests, same, different, skipped, unseen = 0 }: Report): string =>
  requests === 0
    ? 'No captured requests were found.'
    : `${countText(requests, 'request')}: ${same} same, ${different} different, ${skipped} skipped${unseen === 0 ? '' : `; ${countText(unseen, 'operation')} without captured requests`}`;

const plainDetails = (one: TestCase): readonly string[] => [
  ...one.differences.flatMap((difference) => [
    requestLine(difference),
    ...difference.changes.map((change) => `  ${change}`),
  ]),
  ...hidden(one),
  ...ignoredLines(one),
  ...mendedLines(one),
];

const testCaseXml = (suite: string, one: TestCase): readonly string[] => {
  const head = `    <testcase classname="${xml(suite)}" name="${xml(caseNames(one).join(' '))}"`;
  if (one.different > 0)
    return [
      `${head}>`,
      `      <failure message="${xml(counts(one))}">${xml(plainDetails(one).join('\n'))}</failure>`,
      '    </testcase>',
    ];
  if (isSkipped(one)) return [`${head}>`, `      <skipped message="${xml(counts(one))}"/>`, '    </testcase>'];
  const ignored = ignoredLines(one);
  return ignored.length === 0
    ? [`${head}/>`]
    : [`${head}>`, `      <system-out>${xml(ignored.join('\n'))}</system-out>`, '    </testcase>'];
};

/** Escapes text for XML 1.0. Control characters, which it cannot contain, are shown as escapes. */
const xml = (text: string): string =>
  text
    .split('\n')
    .map(printable)
    .join('\n')
    .toWellFormed()
    .replace(/[\uFFFE\uFFFF]/g, '\uFFFD')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/** Escapes a cell of a table. */
const cell = (text: string): string => printable(text).replace(/[\\|<>&`*_[\]]/g, '\\$&');

const markdownDetails = (one: TestCase): readonly string[] => {
  const lines = plainDetails(one).map(printable);
  const longest = Math.max(2, ...lines.flatMap((line) => (line.match(/`+/g) ?? []).map(({ length }) => length)));
  const fence = '`'.repeat(longest + 1);
  return [
    `<details><summary>${xml(printable(`${title(one)}: ${counts(one)}`))}</summary>`,
    '',
    `${fence}text`,
    ...lines,
    fence,
    '',
    '</details>',
    '',
  ];
};
