import { useEffect, useRef, useState } from 'react';
import { paths } from '../paths.ts';
import type { RowPage } from '../requests/traffic-row.ts';
import type { TrafficFeed } from './feed.ts';
import { oldestRow } from './feed-items.ts';
import type { TrafficData } from './traffic-data.ts';

export type OlderState = 'idle' | 'loading' | 'failed';

const PAGE_MIN = 200;
const PAGE_MAX = 5_000;

/**
 * Returns a function that loads the next page, and the state of that load. Pages grow with the number of loaded rows, so that users
 * who scroll far wait less often.
 */
export const useOlderRows = (feed: TrafficFeed, { params, q, since, until }: TrafficData) => {
  const [last, setLast] = useState<{ readonly feed: TrafficFeed; readonly state: OlderState }>();
  const loading = useRef<AbortController>(undefined);
  const { namespace, project } = params;
  useEffect(
    () => () => {
      loading.current?.abort();
      loading.current = undefined;
    },
    [feed],
  );
  const setState = (state: OlderState): void => setLast({ feed, state });
  const load = (): void => {
    const { items, hasOlder } = feed.state();
    const end = oldestRow(items);
    if (loading.current !== undefined || !hasOlder || end === undefined) return;
    const abort = new AbortController();
    loading.current = abort;
    setState('loading');
    const limit = String(Math.min(Math.max(items.length, PAGE_MIN), PAGE_MAX));
    const query = { q, from: since, to: until, before: `${end.receivedAt}~${end.id}`, limit };
    const read = async (): Promise<RowPage> => {
      const response = await fetch(paths.trafficRows({ namespace, project }, query), { signal: abort.signal });
      if (!response.ok) throw new Error(`cannot load older requests: ${response.status}`);
      return (await response.json()) as RowPage;
    };
    read().then(
      (page) => {
        loading.current = undefined;
        // If the list has dropped rows in the meantime, the page would leave a gap after its new end.
        if (oldestRow(feed.state().items)?.id === end.id) feed.addOlder(page);
        setState('idle');
      },
      () => {
        if (abort.signal.aborted) return;
        loading.current = undefined;
        setState('failed');
      },
    );
  };
  return { state: last?.feed === feed ? last.state : 'idle', load };
};
