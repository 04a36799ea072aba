import type { LogEntry, LogSummary } from '@standin/exchange';
import { testEntry } from '@standin/exchange/entry-testing';
import { expect, it } from 'vitest';
import { exportFormat, exportTraffic, type ExportedLog } from './export-requests.ts';

const exchange = testEntry({ body: '{"n":1}' });
const summary = (n: number): LogSummary => ({
  ...exchange,
  id: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
  receivedAt: `2026-11-21T10:00:00.${String(n).padStart(6, '0')}Z`,
  bodyBytes: 7,
  insertedAtMs: 0,
});

/** Returns a log of this many requests that returns pages like the real one. */
const testLog = (count: number): ExportedLog => {
  const all = Array.from({ length: count }, (_summary, index) => summary(count - index));
  return {
    summaries: ({ after, limit }) => {
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after.id) + 1;
      return Promise.resolve(all.slice(start, start + limit));
    },
    entries: async function* (wanted) {
      for (const one of wanted) yield await Promise.resolve({ ...exchange, ...one });
    },
  };
};

const write = async (name: string, count: number, rowsMax?: number): Promise<string> => {
  const format = exportFormat(name);
  if (format === undefined) throw new Error(`no format ${name}`);
  let text = '';
  for await (const part of exportTraffic(testLog(count), {}, format, rowsMax)) text += part;
  return text;
};

interface HarFile {
  readonly log: { readonly entries: readonly { readonly _id: string }[]; readonly comment?: string };
}

it.each([0, 1, 500, 501, 1_200])('writes each of %d requests exactly once, in every format', async (count) => {
  const ids = Array.from({ length: count }, (_id, index) => summary(count - index).id);
  const lines = (await write('ndjson', count)).split('\n').slice(0, -1);
  expect(lines.map((line) => (JSON.parse(line) as LogEntry).id)).toEqual(ids);
  const rows = (await write('csv', count)).split('\r\n').slice(1, -1);
  expect(rows.map((row) => row.split(',')[0])).toEqual(ids);
  const { log } = JSON.parse(await write('har', count)) as HarFile;
  expect(log.entries.map(({ _id }) => _id)).toEqual(ids);
  expect(log.comment).toBeUndefined();
});

it('ends with a note if there are more requests than the limit', async () => {
  const note = 'Truncated after 700 requests. Narrow the search or the time range to export the rest.';
  expect((await write('csv', 900, 700)).split('\r\n').at(-2)).toBe(`"${note}"`);
  expect(JSON.parse((await write('ndjson', 900, 700)).split('\n').at(-2) ?? '')).toEqual({
    event: 'cut',
    message: note,
  });
  const { log } = JSON.parse(await write('har', 900, 700)) as HarFile;
  expect([log.entries.length, log.comment]).toEqual([700, note]);
  // A file that reaches the limit exactly does not need a note.
  expect(await write('csv', 700, 700)).not.toContain('Truncated');
});

it.each([null, 'xml', 'constructor', '__proto__'])('"%s" is not a format', (name) => {
  expect(exportFormat(name)).toBeUndefined();
});
