import type { LogFilter } from '@standin/logstore';
import type { LogSummary } from '@standin/exchange';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { OfProject, ProjectLog } from '../backend.ts';
import { streamRequests, type StreamOptions } from './stream-requests.ts';

/** Streams until the log was read once. Returns the text that was sent, and the filter of the first read. */
const stream = async (options: Partial<StreamOptions>) => {
  const stop = new AbortController();
  const filters: OfProject<LogFilter>[] = [];
  let text = '';
  const log = {
    projectUid: 'uid',
    follow: () => ({ next: () => Promise.resolve([2_000]), close: () => undefined, isClosed: false }),
    summaries: (filter) => {
      filters.push(filter);
      stop.abort();
      return Promise.resolve([]);
    },
  } as Partial<ProjectLog> as ProjectLog;
  const write = (part: string): Promise<void> => {
    text += part;
    return Promise.resolve();
  };
  await streamRequests(log, { view: 'summary', ...options }, write, stop.signal);
  return { text, filter: filters[0] };
};

it('a stream begins at its time, with a position from which its client can continue', async () => {
  const { text, filter } = await stream({ sinceUs: 1_000 });
  expect(text.startsWith('retry: 1000\nid: 1000.0\n\n')).toBe(true);
  expect([filter?.sinceUs, filter?.insertedSince]).toEqual([1_000, new Date(0)]);
});

it('a client can continue from the position that it got', async () => {
  const sinceUs = Date.parse('2286-11-20') * 1_000;
  const { text } = await stream({ sinceUs });
  const [, lastEventId = ''] = /id: (\S+)/.exec(text) ?? [];
  expect((await stream({ lastEventId })).filter?.sinceUs).toBe(sinceUs);
});

it('a stream continues with what was stored since its last position, whatever its time is', async () => {
  const { text, filter } = await stream({ sinceUs: 9_000, lastEventId: '1000.1000000' });
  expect(text).toContain('id: 1000.1000000\n\n');
  expect(filter?.sinceUs).toBe(1_000);
  expect(filter?.insertedSince?.getTime()).toBeLessThanOrEqual(1_000_000);
  // Inserts that ended in another order are read again.
  expect(filter?.insertedSince?.getTime()).toBeGreaterThan(900_000);
});

it.each(['', '1000', '1000.', '.1', '1000.1500.1', '-1.5', 'x.y', '12345678901234567.1'])(
  'the position %j is refused',
  async (lastEventId) => {
    await expect(stream({ lastEventId })).rejects.toThrow('must be the id of an event from this stream');
  },
);

it('a heartbeat does not split an event whose client reads slowly', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stop = new AbortController();
  const stopped = new Promise<number[]>((resolve) => stop.signal.addEventListener('abort', () => resolve([])));
  const reads = [Promise.resolve([2_000])];
  const log = {
    projectUid: 'uid',
    follow: () => ({ next: () => reads.shift() ?? stopped, close: () => undefined, isClosed: false }),
    summaries: () => Promise.resolve([{ id: 'a', insertedAtMs: 2_000 } as LogSummary]),
  } as Partial<ProjectLog> as ProjectLog;
  const { promise: isRead, resolve: read } = Promise.withResolvers<undefined>();
  let text = '';
  const write = async (part: string): Promise<void> => {
    text += part;
    if (part.startsWith('event: ')) await isRead;
  };
  const streaming = streamRequests(log, { view: 'summary' }, write, stop.signal);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(text).toMatch(/event: request\ndata: $/);
  read(undefined);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(text).toMatch(/event: request\ndata: .*"id":"a".*\n\n(id: .*\n\n)?:\n\n$/);
  stop.abort();
  await streaming;
});
