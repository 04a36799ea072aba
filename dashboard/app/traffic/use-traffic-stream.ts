import { useEffect, useState } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import type { RowBatch, TrafficFeed } from './feed.ts';
import { oldestRow } from './feed-items.ts';

/**
 * The state of the stream. `unavailable` means that the stream is open but the log is not responding. `refused` means that the
 * server has no capacity for another stream. `message` is the reason.
 */
export type Connection =
  | { readonly kind: 'connecting' | 'live' | 'reconnecting' | 'off' }
  | { readonly kind: 'unavailable' | 'refused'; readonly message: string };

export interface StreamOptions {
  readonly params: ProjectName;
  readonly q: string;
  /** The start of the time range, in RFC 3339. Undefined if the range has no start. */
  readonly since: string | undefined;
  /**
   * False if the list does not receive new requests: its time range has an end, its search is invalid, or it could not be loaded.
   */
  readonly isLive: boolean;
}

const RETRY_MS = 1_000;
/** The retry delay after `refused`. It is longer than usual, because the user must first close another page. */
const REFUSED_RETRY_MS = 15_000;
/** The silence after which the stream is reopened. The server sends an event at least every six seconds. */
const SILENCE_MS_MAX = 12_000;
const EVER = '1970-01-01T00:00:00.000Z';

/** Returns the time from which a connection must report requests. The next page contains older ones. */
const streamStart = (feed: TrafficFeed, since = EVER): string => {
  const { items, hasOlder } = feed.state();
  return (hasOlder ? oldestRow(items)?.receivedAt : undefined) ?? since;
};

interface TailListener {
  /** Returns the URL of a stream. `inserted` is the position after the events so far. */
  readonly open: (inserted: string | undefined) => string;
  readonly onBatch: (batch: RowBatch) => void;
  readonly onConnection: (connection: Connection) => void;
}

/**
 * Listens to the stream of new requests until the returned function is called. Opens a new EventSource after each failure, because
 * browsers stop reconnecting after a response that is not a stream.
 */
export const followTail = ({ open: streamUrl, onBatch, onConnection }: TailListener): (() => void) => {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let inserted: string | undefined;
  const close = (): void => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const again = (): void => {
    close();
    if (document.hidden) return;
    onConnection({ kind: 'reconnecting' });
    timer = setTimeout(open, RETRY_MS);
  };
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(again, SILENCE_MS_MAX);
  };
  const open = (): void => {
    close();
    source = new EventSource(streamUrl(inserted));
    timer = setTimeout(again, SILENCE_MS_MAX);
    source.addEventListener('rows', ({ data, lastEventId }: MessageEvent<string>) => {
      heard();
      inserted = lastEventId;
      onConnection({ kind: 'live' });
      onBatch(JSON.parse(data) as RowBatch);
    });
    source.addEventListener('unavailable', ({ data }: MessageEvent<string>) => {
      heard();
      const { unavailable } = JSON.parse(data) as { unavailable: string };
      onConnection({ kind: 'unavailable', message: unavailable });
    });
    source.addEventListener('refused', ({ data }: MessageEvent<string>) => {
      const { message } = JSON.parse(data) as { message: string };
      close();
      onConnection({ kind: 'refused', message });
      timer = setTimeout(open, REFUSED_RETRY_MS);
    });
    source.addEventListener('error', again);
  };
  // Hidden tabs close their stream, because browsers allow few connections.
  const onVisibility = (): void => {
    if (document.hidden) close();
    else if (source === undefined) open();
  };
  const onOnline = (): void => open();
  onVisibility();
  document.addEventListener('visibilitychange', onVisibility);
  window.addEventListener('online', onOnline);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    window.removeEventListener('online', onOnline);
    close();
  };
};

const CONNECTING: Connection = { kind: 'connecting' };
const OFF: Connection = { kind: 'off' };

/** Adds new requests to the feed. Returns the state of the stream. */
export const useTrafficStream = (feed: TrafficFeed, options: StreamOptions): Connection => {
  const { params, q, since, isLive } = options;
  const { namespace, project } = params;
  const [connection, setConnection] = useState<Connection>(CONNECTING);
  useEffect(() => {
    if (!isLive) return;
    const keep = (next: Connection) => (before: Connection) => (before.kind === next.kind ? before : next);
    const stop = followTail({
      // Continues after the newest insert, not the newest request, because a gateway can deliver a request hours late.
      open: (inserted) => paths.trafficStream({ namespace, project }, { q, since: streamStart(feed, since), inserted }),
      onBatch: (batch) => feed.receive(batch),
      onConnection: (next) => setConnection(keep(next)),
    });
    return () => {
      stop();
      setConnection(CONNECTING);
    };
  }, [feed, namespace, project, q, since, isLive]);
  return isLive ? connection : OFF;
};
