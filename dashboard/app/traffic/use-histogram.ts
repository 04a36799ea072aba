import { useEffect, useRef, useState } from 'react';
import { paths } from '../paths.ts';
import type { TrafficFeed } from './feed.ts';
import type { RequestHistogram } from '../../src/requests/read-histogram.ts';
import type { TrafficData } from './traffic-data.ts';

const REFRESH_MS_MIN = 3_000;
/** The refresh interval as a multiple of the query time, because charts of large logs take longer. */
const REFRESH_PER_COST = 10;
const FAILED = 'Can’t load the chart.';

type HistogramAnswer = RequestHistogram & { readonly unavailable?: string };

export type HistogramState =
  /** `view` is the chart of the previous list of the same project, if any. */
  | { readonly kind: 'loading'; readonly view?: RequestHistogram | undefined }
  | { readonly kind: 'shown'; readonly view: RequestHistogram }
  | { readonly kind: 'failed'; readonly message: string };

/** Loads the chart above the list, and refreshes it while the list follows new requests. */
export const useHistogram = (feed: TrafficFeed, data: TrafficData, isFollowing: boolean): HistogramState => {
  const { params, q, range, problem } = data;
  const { namespace, project } = params;
  const { from, to } = range;
  const [read, setRead] = useState<{
    readonly feed: TrafficFeed;
    readonly url: string;
    readonly state: HistogramState;
  }>();
  const isAsked = problem === undefined;
  const readFor = useRef<TrafficFeed>(undefined);
  useEffect(() => {
    if (!isAsked) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let shownNewest: string | undefined;
    const setState = (state: HistogramState): void =>
      setRead({ feed, url: paths.traffic({ namespace, project }), state });
    // The chart of a paused list does not change.
    const isWanted = (): boolean => isFollowing || readFor.current !== feed;
    const ask = async (exact?: '1'): Promise<HistogramAnswer | undefined> => {
      const url = paths.trafficHistogram({ namespace, project }, { q, from, to, exact });
      const response = await fetch(url, { signal: abort.signal });
      const answer = (await response.json()) as HistogramAnswer;
      if (response.ok) {
        setState({ kind: 'shown', view: answer });
        readFor.current = feed;
      } else if (exact === undefined) {
        // If the exact numbers cannot be loaded, keep the estimate.
        setState({ kind: 'failed', message: answer.unavailable ?? FAILED });
      }
      return response.ok ? answer : undefined;
    };
    const readChart = async (): Promise<void> => {
      const startedAt = performance.now();
      shownNewest = feed.newest();
      try {
        const first = await ask();
        if (first === undefined) shownNewest = '';
        else if (first.isEstimate) await ask('1');
      } catch {
        if (abort.signal.aborted) return;
        shownNewest = '';
        setState({ kind: 'failed', message: FAILED });
      }
      if (isWanted()) again((performance.now() - startedAt) * REFRESH_PER_COST);
    };
    const again = (waitMs: number): void => {
      timer = setTimeout(
        () => {
          const isStale = feed.newest() !== shownNewest && !document.hidden;
          if (isStale) void readChart();
          else again(REFRESH_MS_MIN);
        },
        Math.max(REFRESH_MS_MIN, waitMs),
      );
    };
    if (isWanted()) void readChart();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [feed, namespace, project, q, from, to, isAsked, isFollowing]);
  if (read?.feed === feed) return read.state;
  const isSameProject = read?.url === paths.traffic(params);
  return { kind: 'loading', view: isSameProject && read.state.kind === 'shown' ? read.state.view : undefined };
};
