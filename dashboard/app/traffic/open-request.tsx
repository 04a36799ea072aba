import { Maximize2, X } from 'lucide-react';
import { lazy, Suspense, useEffect } from 'react';
import { paths } from '../paths.ts';
import { Link, useFetcher } from '../remix.ts';
import { EmptyState } from '../ui/empty-state.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { useHydrated } from '../ui/time.tsx';
import { Notice } from '../ui/notice.tsx';
import type { Selection, TrafficData } from './traffic-data.ts';

const NotLoaded = () => <Notice look="bad">Can’t load the request. Reload the page to try again.</Notice>;

/** The panel is loaded separately, because it is larger than the list, and the list does not need it. */
const ExchangePanel = lazy(() =>
  import('./exchange-panel.tsx').then(
    (module) => ({ default: module.ExchangePanel }),
    () => ({ default: NotLoaded }),
  ),
);

/** Replaces a request that cannot be loaded (`keepFetched`). */
interface Unavailable {
  readonly unavailable: string;
  readonly exchange?: undefined;
}

export interface OpenRequestProps {
  readonly data: TrafficData;
  readonly id: string;
  readonly tab: string;
  readonly onClose: () => void;
}

/**
 * Returns the open request from the page's data or, if it is missing, loads it. While it is loading, returns the request that was
 * loaded last, or undefined if none was.
 */
const useSelection = ({ data, id }: Pick<OpenRequestProps, 'data' | 'id'>): Selection | Unavailable | undefined => {
  const fetcher = useFetcher<Selection | Unavailable>();
  const { params, selection } = data;
  const isLoaded = selection?.id === id && selection.unavailable === undefined;
  const { load } = fetcher;
  const url = paths.trafficSelection(params, { sel: id });
  useEffect(() => {
    if (!isLoaded) load(url);
  }, [isLoaded, load, url]);
  if (isLoaded) return selection;
  return fetcher.data;
};

const Loading = () => <p className="text-muted">Loading…</p>;

const Contents = ({ data, id, tab }: OpenRequestProps) => {
  const selection = useSelection({ data, id });
  if (selection === undefined) return <Loading />;
  if (selection.unavailable !== undefined)
    return <Notice look="bad">{selection.unavailable} Reload the page to try again.</Notice>;
  if (selection.exchange === undefined) {
    return (
      <EmptyState title="Request not found">
        The request may have expired or been purged, or may belong to another project. The project’s retention
        determines how long requests are kept.
      </EmptyState>
    );
  }
  return <ExchangePanel exchange={selection.exchange} project={data.params} tab={tab} />;
};

/** Shows the open request next to the list. */
export const OpenRequest = (props: OpenRequestProps) => (
  <div className="flex flex-col gap-2 px-4 pt-1.5 pb-6">
    <div className="-mr-2 flex justify-end gap-1">
      <Link
        to={paths.exchange({ ...props.data.params, id: props.id })}
        aria-label="Open full page"
        title="Open full page"
        className="inline-flex size-7 items-center justify-center rounded text-muted hover:bg-hover hover:text-text"
      >
        <Maximize2 aria-hidden className="size-4" />
      </Link>
      <IconButton label="Close (Escape)" onClick={props.onClose}>
        <X aria-hidden />
      </IconButton>
    </div>
    {/* Rendered after hydration. This page updates immediately, and a lazy component must not update before it is hydrated. */}
    {useHydrated() ? (
      <Suspense fallback={<Loading />}>
        <Contents {...props} />
      </Suspense>
    ) : (
      <Loading />
    )}
  </div>
);
