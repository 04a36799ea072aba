import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { followTail, type Connection } from './use-traffic-stream.ts';

/** The streams that are open. */
const sources = new Set<Source>();

class Source extends EventTarget {
  readonly url: string;

  constructor(url: string) {
    super();
    this.url = url;
    sources.add(this);
  }

  close(): void {
    sources.delete(this);
  }

  send(type: string, data: unknown, lastEventId = ''): void {
    this.dispatchEvent(Object.assign(new Event(type), { data: JSON.stringify(data), lastEventId }));
  }
}

const page = { document: Object.assign(new EventTarget(), { hidden: false }), window: new EventTarget() };
let kinds: Connection['kind'][];
let stop: () => void;

const urls = (): readonly string[] => Array.from(sources, ({ url }) => url);
const opened = (): Source => {
  const [source] = sources;
  if (source === undefined) throw new Error('no stream is open');
  return source;
};
const setHidden = (hidden: boolean): void => {
  page.document.hidden = hidden;
  page.document.dispatchEvent(new Event('visibilitychange'));
};

beforeEach(() => {
  vi.useFakeTimers();
  for (const [name, value] of Object.entries({ ...page, EventSource: Source })) vi.stubGlobal(name, value);
  kinds = [];
  stop = followTail({
    open: (inserted = 'start') => inserted,
    onBatch: () => undefined,
    onConnection: ({ kind }) => kinds.push(kind),
  });
});
afterEach(() => {
  stop();
  setHidden(false);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('a stream that fails or is silent is opened again, after the last rows', () => {
  expect(urls()).toEqual(['start']);
  opened().send('rows', {}, 'first');
  opened().dispatchEvent(new Event('error'));
  expect(urls()).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(urls()).toEqual(['first']);
  opened().send('rows', {}, 'second');
  vi.advanceTimersByTime(12_000 + 1_000);
  expect(urls()).toEqual(['second']);
  expect(kinds).toEqual(['live', 'reconnecting', 'live', 'reconnecting']);
});

test('a stream that is refused is opened again later', () => {
  opened().send('refused', { message: 'too many' });
  vi.advanceTimersByTime(14_000);
  expect(urls()).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(urls()).toEqual(['start']);
});

test('a hidden tab has no stream', () => {
  setHidden(true);
  vi.advanceTimersByTime(60_000);
  expect(urls()).toEqual([]);
  setHidden(false);
  expect(urls()).toEqual(['start']);
});

test('nothing opens the stream of a list that is no longer shown', () => {
  stop();
  page.window.dispatchEvent(new Event('online'));
  setHidden(true);
  setHidden(false);
  expect([urls(), vi.getTimerCount()]).toEqual([[], 0]);
});
