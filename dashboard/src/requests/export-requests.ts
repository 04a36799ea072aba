import { ownMember } from '@standin/contract';
import type { LogSummary } from '@standin/exchange';
import type { CountFilter } from '@standin/logstore';
import { HAR_BEGIN, HAR_END, harEntry } from '@standin/exchange/formats';
import type { ProjectLog } from '../backend.ts';
import { jsonStream } from '../json-pieces.ts';
import { csvHeader, csvLine, csvNote } from './csv.ts';

/** Larger files are hard to open. Users can narrow the search or the time range, or read the rest from the JSON API. */
const EXPORT_ROWS_MAX = 100_000;
const PAGE_ROWS = 500;

export type ExportedLog = Pick<ProjectLog, 'summaries' | 'entries'>;
type Filter = Omit<CountFilter, 'projectUid'>;

/** A file format for requests. Each part is text, and only one page of requests is in memory at a time. */
export interface ExportFormat {
  readonly extension: string;
  readonly contentType: string;
  readonly begin: () => string;
  readonly page: (log: ExportedLog, summaries: readonly LogSummary[], isFirst: boolean) => AsyncIterable<string>;
  /** `cut` is the reason why the export is incomplete. Undefined if it is complete. */
  readonly end: (cut: string | undefined) => string;
}

const csv: ExportFormat = {
  extension: 'csv',
  contentType: 'text/csv; charset=utf-8',
  begin: csvHeader,
  page: async function* (_log, summaries) {
    yield await Promise.resolve(summaries.map(csvLine).join(''));
  },
  end: (cut) => (cut === undefined ? '' : csvNote(cut)),
};

/** The same lines that `standin logs -o json` prints. If the export is incomplete, a last line has the reason. */
const ndjson: ExportFormat = {
  extension: 'ndjson',
  contentType: 'application/x-ndjson; charset=utf-8',
  begin: () => '',
  page: async function* (log, summaries) {
    for await (const entry of log.entries(summaries)) {
      yield* jsonStream(entry);
      yield '\n';
    }
  },
  end: (cut) => (cut === undefined ? '' : `${JSON.stringify({ event: 'cut', message: cut })}\n`),
};

/** A single document, written piece by piece. If the export is incomplete, the document's comment has the reason. */
const har: ExportFormat = {
  extension: 'har',
  contentType: 'application/json; charset=utf-8',
  begin: () => HAR_BEGIN,
  page: async function* (log, summaries, isFirst) {
    let separator = isFirst ? '' : ',';
    for await (const entry of log.entries(summaries)) {
      yield separator;
      yield* jsonStream(harEntry(entry));
      separator = ',';
    }
  },
  end: (cut) => (cut === undefined ? HAR_END : HAR_END.replace(']', `],"comment":${JSON.stringify(cut)}`)),
};

const FORMATS: Readonly<Record<string, ExportFormat>> = { csv, ndjson, har };

export const exportFormat = (name: string | null): ExportFormat | undefined =>
  name === null ? undefined : ownMember(FORMATS, name);

/** Yields the file, newest request first. A failure aborts the download, so that a partial file never looks complete. */
export async function* exportTraffic(
  log: ExportedLog,
  filter: Filter,
  format: ExportFormat,
  rowsMax = EXPORT_ROWS_MAX,
): AsyncGenerator<string> {
  yield format.begin();
  let written = 0;
  for (let after: LogSummary | undefined; ;) {
    const page = await log.summaries({ ...filter, after, limit: PAGE_ROWS });
    const wanted = page.slice(0, rowsMax - written);
    yield* format.page(log, wanted, written === 0);
    written += wanted.length;
    after = page.at(-1);
    if (wanted.length < page.length) {
      yield format.end(`Truncated after ${written} requests. Narrow the search or the time range to export the rest.`);
      return;
    }
    if (page.length < PAGE_ROWS) break;
  }
  yield format.end(undefined);
}
