import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { formatLine } from '../terminal.ts';
import {
  formatDuration,
  formatRefusedLine,
  formatSummaryLine,
  type LineEntry,
  type RefusedLine,
} from './format-entry.ts';

const ID = '01931f3e-0000-7000-8000-000000000001';
const entry: LineEntry = {
  id: ID,
  // Without a time zone, this is local time, so the test passes in any zone.
  receivedAt: '2026-11-21T07:35:12.123456',
  namespace: 'default',
  endpoint: 'create-order',
  method: 'POST',
  path: '/v1/orders',
  query: '',
  status: 201,
  durationMs: 12.34,
  outcome: 'mocked',
  responseName: '',
  credential: 'key',
};
const line = (changes: Partial<LineEntry>, colour = false): string =>
  formatLine(formatSummaryLine({ ...entry, ...changes }), colour);

describe('formatRefusedLine', () => {
  const refused = {
    receivedAt: entry.receivedAt,
    method: 'GET',
    path: '/k3v9/v1/x',
    status: 404,
    code: 'endpoint_not_found',
  };
  const refusedLine = (changes: Partial<RefusedLine> = {}, colour = false): string =>
    formatLine(formatRefusedLine({ ...refused, ...changes }), colour);

  test('aligns with the lines of accepted requests and shows the reason', () => {
    expect(refusedLine()).toBe(
      '11-21 07:35:12.123  GET     404  /k3v9/v1/x                        rejected: endpoint_not_found',
    );
    expect(refusedLine({ method: '', path: '', status: 400, code: 'bad_request' })).toMatch(
      /123 {2}--- {5}400 {2}--- +rejected: bad_request$/,
    );
  });

  test('is dim, and escapes control characters in the path', () => {
    const coloured = refusedLine({ path: '/a\x1b[31m' }, true);
    expect(coloured.startsWith('\x1b[2m11-21 ')).toBe(true);
    expect(coloured.endsWith('endpoint_not_found\x1b[22m')).toBe(true);
    expect(stripVTControlCharacters(coloured)).toContain(String.raw`  /a\x1b[31m `);
  });
});

describe('formatSummaryLine', () => {
  test('aligns time, method, status, path, duration and endpoint', () => {
    const other = line({ method: 'DELETE', path: '/v1/orders/17', query: 'force=1', durationMs: 1234, status: 404 });
    expect([line({}), other]).toEqual([
      `11-21 07:35:12.123  POST    201  /v1/orders                         12.3 ms  default/create-order  ${ID}`,
      `11-21 07:35:12.123  DELETE  404  /v1/orders/17?force=1                1.2 s  default/create-order  ${ID}`,
    ]);
  });

  test('shows outcomes that the status alone does not show', () => {
    expect(line({ status: 502, outcome: 'upstream_failed' })).toMatch(/ 502 .* upstream_failed {2}0193/);
    expect(line({ status: 0, outcome: 'response_unknown' })).toMatch(/ --- .* response_unknown {2}0193/);
    expect(line({ status: 0, outcome: 'in_progress' })).toMatch(/ --- .*orders {34,}default.* in_progress {2}0193/);
    expect(line({ status: 500, outcome: 'template_failed', responseName: 'gold' })).toMatch(
      / default\/create-order \(gold\) {2}template_failed {2}0193/,
    );
    expect(line({ status: 200, outcome: 'fallback', responseName: '' })).toMatch(
      / default\/create-order {2}fallback {2}0193/,
    );
  });

  test('shows the name of the response after the endpoint', () => {
    expect(line({ responseName: 'gold' })).toMatch(/ default\/create-order \(gold\) {2}0193/);
    expect(line({ credential: 'signature' })).toMatch(/ default\/create-order {2}signed {2}0193/);
    expect(line({ credential: 'key' })).toMatch(/ default\/create-order {2}0193/);
    expect(line({ responseName: '\x1b[2J' })).toContain(String.raw` (\x1b[2J)`);
  });

  test.each([
    ['an escape sequence', '/a\x1b[31m', String.raw`/a\x1b[31m`],
    ['an 8-bit escape sequence and a line break', '/a\x9b31m\r\n', String.raw`/a\x9b31m\x0d\x0a`],
    ['a right-to-left override', '/a\u202etxt.exe', String.raw`/a\u202etxt.exe`],
    ['not a letter', '/caf\xe9', '/caf\xe9'],
  ])('escapes control characters in the path: %s', (_what, path, shown) => {
    expect(line({ path })).toContain(`  ${shown} `);
  });

  test('escapes control characters in names, with or without colour', () => {
    const names = { namespace: 'a\x1b[2J', endpoint: 'b\nforged' };
    expect(line(names)).toContain(String.raw`a\x1b[2J/b\x0aforged`);
    expect(stripVTControlCharacters(line(names, true))).toBe(line(names));
  });

  test('truncates a long path', () => {
    const long = line({ path: `/${'x'.repeat(5_000)}` });
    expect(long).toContain('x…');
    expect(long.length).toBeLessThan(240);
  });

  test('adds only colour when requested', () => {
    const coloured = line({ status: 503 }, true);
    expect(coloured).toContain('\x1b[31m503\x1b[39m');
    expect(stripVTControlCharacters(coloured)).toBe(line({ status: 503 }));
  });
});

test.each([
  [0.04, '0.0 ms'],
  [0.812, '0.8 ms'],
  [999.94, '999.9 ms'],
  [999.96, '1.0 s'],
  [61_000, '61.0 s'],
])('%d ms is shown as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
