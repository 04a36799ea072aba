import { hasControls, LIMITS, SourceError } from '@standin/contract';
import { newLogRow } from '@standin/exchange/testing';
import type { LogSummary } from '@standin/exchange';
import { parseFilter } from '@standin/exchange/search';
import { tailSummaries } from '@standin/logstore';
import pino from 'pino';
import { expect, it } from 'vitest';
import { auditReads, recordOpenedLink } from './audit-reads.ts';
import type { Logs, ProjectLog } from './backend.ts';
import { exportFormat, exportTraffic } from './requests/export-requests.ts';

const PROJECT = { namespace: 'team', name: 'shop', uid: 'uid-1' };
const WHO = { via: 'api', user: 'ann', namespace: 'team', project: 'shop', projectUid: 'uid-1' };

interface OpenedOptions {
  readonly rows?: number;
  readonly user?: string;
  /** Replaces every read of the log. */
  readonly read?: () => unknown;
}

const fakeLog = (read: () => unknown): ProjectLog =>
  new Proxy({} as ProjectLog, {
    get: (_, name) => {
      if (name === 'replays') return fakeLog(read);
      // The log is not a promise.
      return name === 'then' ? undefined : read;
    },
  });

/** Opens a log whose lists have `rows` requests, and collects the lines of its audit. */
const opened = async ({ rows = 0, user = 'ann', read }: OpenedOptions = {}) => {
  const lines: string[] = [];
  let left = rows;
  const log = {
    projectUid: PROJECT.uid,
    summaries: ({ limit }) => {
      const count = Math.min(left, limit);
      left -= count;
      return Promise.resolve(Array.from({ length: count }, () => ({ id: newLogRow().id }) as LogSummary));
    },
    follow: () => ({ next: () => Promise.resolve([1]), close: () => undefined, isClosed: false }),
    row: () => Promise.resolve(newLogRow()),
  } as Partial<ProjectLog> as ProjectLog;
  const open = (): Promise<ProjectLog> => Promise.resolve(read === undefined ? log : fakeLog(read));
  const logger = pino({ base: {}, timestamp: false }, { write: (line: string) => lines.push(line) });
  const reader = { via: 'api' as const, user: () => Promise.resolve(user) };
  const audited = await auditReads({ open } as Partial<Logs> as Logs, logger, reader).open(PROJECT);
  return { log: audited, text: () => lines.join(''), lines: () => lines.map((line) => JSON.parse(line) as object) };
};

const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
};

const search = (q: string) => {
  const parsed = parseFilter(q);
  return parsed.kind === 'parsed' ? parsed.filter : undefined;
};

it('an export of many pages is one line', async () => {
  const { log, lines } = await opened({ rows: 1_200 });
  const format = exportFormat('ndjson');
  if (format === undefined) throw new Error('no format');
  const sinceUs = Date.parse('2026-11-21T09:00:00Z') * 1_000;
  const file = exportTraffic(
    log,
    { search: search('status:>=500'), sinceUs },
    { ...format, page: async function* () {} },
  );
  expect(await collect(file)).toEqual(['', '']);
  const read = { read: 'list', filter: 'status:>=500', from: '2026-11-21T09:00:00Z' };
  expect(lines()).toEqual([{ level: 30, ...WHO, ...read, msg: 'log read' }]);
});

it('a stream is one line at its start', async () => {
  const { log, lines } = await opened();
  const stop = new AbortController();
  let reads = 0;
  const filter = { projectUid: log.projectUid, search: search('method:POST'), sinceUs: 0 };
  const onCaughtUp = (): void => {
    reads += 1;
    expect(lines()).toHaveLength(1);
    if (reads === 3) stop.abort();
  };
  expect(await collect(tailSummaries(log, filter, stop.signal, { onCaughtUp }))).toEqual([]);
  expect(lines()).toMatchObject([{ read: 'stream', filter: 'method:POST' }]);
});

it('a request is named before its data is returned', async () => {
  const { log, lines, text } = await opened();
  const reading = log.row('0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe');
  expect(lines()).toMatchObject([{ read: 'request', requests: ['0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe'] }]);
  const { requestBody } = (await reading) ?? newLogRow();
  expect(requestBody.length).toBeGreaterThan(0);
  expect(text()).not.toContain(Buffer.from(requestBody).toString());
});

const FILTER = { search: search('method:POST'), sinceUs: 0, endpoint: 'orders' };
const SELECTED = { filter: 'method:POST', from: '1970-01-01T00:00:00Z', endpoint: 'orders' };
const ID = '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe';
/** A call of each read of a log, and its line. Undefined if it returns no data, or if another read has recorded it. */
type ReadCall<T> = Record<keyof T, readonly [call: (log: ProjectLog) => unknown, line: object | undefined]>;
const READS: ReadCall<Omit<ProjectLog, 'projectUid' | 'replays' | 'settle' | 'own'>> = {
  entries: [(log) => log.entries([]), undefined],
  follow: [(log) => log.follow({ pollIntervalMs: 1 }), undefined],
  summaries: [(log) => log.summaries({ ...FILTER, limit: 1 }), { read: 'list', ...SELECTED }],
  count: [(log) => log.count(FILTER), { read: 'count', ...SELECTED }],
  histogram: [
    (log) => log.histogram(FILTER, {} as Parameters<ProjectLog['histogram']>[1]),
    { read: 'histogram', ...SELECTED },
  ],
  distinct: [
    (log) => log.distinct('endpoint', FILTER, {} as Parameters<ProjectLog['distinct']>[2]),
    { read: 'values', field: 'endpoint', ...SELECTED },
  ],
  requestBodies: [(log) => log.requestBodies([{ id: ID, receivedAt: '' }], 1), { read: 'bodies', requests: [ID] }],
  get: [(log) => log.get(ID), { read: 'request', requests: [ID] }],
  row: [(log) => log.row(ID), { read: 'request', requests: [ID] }],
  preview: [(log) => log.preview(ID, 1), { read: 'request', requests: [ID] }],
  previews: [(log) => log.previews([{ id: ID } as LogSummary], 1), { read: 'bodies', requests: [ID] }],
};
const REPLAY_READS: ReadCall<ProjectLog['replays']> = {
  exchange: [(log) => log.replays.exchange('uid-2', ID), { read: 'replays', replay: 'uid-2', requests: [ID] }],
  results: [(log) => log.replays.results('uid-2', { limit: 1 }), { read: 'replays', replay: 'uid-2' }],
  ofRequest: [(log) => log.replays.ofRequest(ID, 1), { read: 'replays', requests: [ID] }],
  counts: [(log) => log.replays.counts('uid-2'), { read: 'replays', replay: 'uid-2' }],
};
const ALL_READS = [...Object.entries(READS), ...Object.entries(REPLAY_READS)].map(
  ([name, read]) => [name, ...read] as const,
);

it('every read of a log is in the table below', async () => {
  const { log } = await opened();
  // To settle a log returns nothing of it.
  const others = ['projectUid', 'replays', 'settle'];
  expect(Object.keys(log).sort()).toEqual([...Object.keys(READS), ...others].sort());
  expect(new Set(Object.keys(log.replays))).toEqual(new Set(Object.keys(REPLAY_READS)));
});

it.each(ALL_READS)(
  'is recorded once, before it returns data, and returns what the log returns: %s',
  async (_, call, line) => {
    const result = {};
    let isRecorded = false;
    const { log, lines } = await opened({
      read: () => {
        isRecorded = lines().length === 1;
        return result;
      },
    });
    expect(call(log)).toBe(result);
    expect(isRecorded).toBe(line !== undefined);
    expect(call(log)).toBe(result);
    expect(lines()).toEqual(line === undefined ? [] : [{ level: 30, ...WHO, ...line, msg: 'log read' }]);
  },
);

it('refused requests of a project are recorded', async () => {
  const lines: string[] = [];
  const logger = pino({ base: {}, timestamp: false }, { write: (line: string) => lines.push(line) });
  const refusals = { counts: [], omitted: 0, missing: [] };
  const logs = { refusals: () => Promise.resolve(refusals) } as Partial<Logs> as Logs;
  const audited = auditReads(logs, logger, { via: 'api', user: () => Promise.resolve('ann') });
  expect(await audited.refusals(PROJECT)).toBe(refusals);
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    { level: 30, ...WHO, read: 'refusals', msg: 'log read' },
  ]);
});

it('a link that was opened is recorded with its Share', () => {
  const lines: string[] = [];
  const logger = pino({ base: {}, timestamp: false }, { write: (line: string) => lines.push(line) });
  recordOpenedLink(logger, PROJECT, { share: 'support', requestId: ID });
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    {
      level: 30,
      ...WHO,
      user: undefined,
      via: 'link',
      share: 'support',
      read: 'request',
      requests: [ID],
      msg: 'log read',
    },
  ]);
});

it('text of the user is bounded and cannot forge a line', async () => {
  const { log, lines, text } = await opened({ user: 'ann\n{"user":"eve"}\u202e' });
  await log.summaries({ search: search(`path:"a\\n\u2028\u001b[2K${'x'.repeat(1_900)}"`), limit: 1 });
  await log.row(`\r\n${'\u0007'.repeat(LIMITS.auditTextLengthMax)}`);
  expect(text().match(/\n/g)).toHaveLength(2);
  expect(hasControls(text().replaceAll('\n', ''))).toBe(false);
  const [list, one] = lines() as [{ user: string; filter: string }, { requests: [string] }];
  expect(list.user).toBe('ann\\x0a{"user":"eve"}\\u202e');
  expect(list.filter).toContain('xxx');
  for (const value of [list.filter, one.requests[0]])
    expect(value.length).toBeLessThanOrEqual(LIMITS.auditTextLengthMax + 1);
});

it('a refused read is a warning', async () => {
  const lines: string[] = [];
  const logger = pino({ base: {}, timestamp: false }, { write: (line: string) => lines.push(line) });
  const forbidden = new SourceError('Forbidden', 'no');
  const logs = {
    open: () => Promise.reject(forbidden),
    refusals: () => Promise.reject(forbidden),
  } as Partial<Logs> as Logs;
  const audited = auditReads(logs, logger, { via: 'page', user: () => Promise.resolve(undefined) });
  await expect(audited.open(PROJECT)).rejects.toBe(forbidden);
  await expect(audited.refusals(PROJECT)).rejects.toBe(forbidden);
  const refused = { level: 40, ...WHO, via: 'page', user: undefined, msg: 'log read refused' };
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([refused, refused]);
});
