import type { LogSummary } from '@standin/exchange';
import { testEntry } from '@standin/exchange/entry-testing';
import { expect, it } from 'vitest';
import { csvHeader, csvLine, csvNote } from './csv.ts';

const summary: LogSummary = {
  ...testEntry({}),
  id: '00000000-0000-7000-8000-000000000001',
  receivedAt: '2026-11-21T10:00:00.123456Z',
  status: 201,
  durationMs: 0.812,
  outcome: 'mocked',
  responseName: 'gold',
  credential: 'signature',
  deliveryId: 'evt_1',
  bodyBytes: 15,
  insertedAtMs: 0,
};

it('each request is one line that ends with CRLF', () => {
  expect(csvHeader() + csvLine(summary)).toBe(
    'id,received_at,method,path,query,status,duration_ms,body_bytes,endpoint,outcome,project,response,credential,delivery_id\r\n' +
      '00000000-0000-7000-8000-000000000001,2026-11-21T10:00:00.123456Z,POST,/v1/orders,,201,0.812,15,create-order,mocked,default/shop,gold,signature,evt_1\r\n',
  );
});

it.each([
  ['=cmd()', `"'=cmd()"`],
  ["=1+1|'x'!A1", `"'=1+1|'x'!A1"`],
  ['-2+3', `"'-2+3"`],
  ['@SUM(1)', `"'@SUM(1)"`],
  ['\t=1', `"'\t=1"`],
  ['a="b",c', '"a=""b"",c"'],
  ['a\r\n=b', '"a\r\n=b"'],
  ['a=1', 'a=1'],
])('the query %j does not become a spreadsheet formula', (query, cell) => {
  expect(csvLine({ ...summary, query })).toContain(`/v1/orders,${cell},201`);
});

it('an unknown status is empty, and a note is one cell', () => {
  expect(csvLine({ ...summary, status: 0 })).toContain('/v1/orders,,,0.812');
  expect(csvNote('Cut after 5 requests, there are more')).toBe('"Cut after 5 requests, there are more"\r\n');
});
