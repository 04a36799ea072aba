import type { SampleRequest } from '../../src/requests/sample-request.ts';
import { Send } from 'lucide-react';
import type { ReactNode } from 'react';
import { TryIt } from '../endpoints/try-it.tsx';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { failureText } from '../ui/kept-form.ts';
import { Notice } from '../ui/notice.tsx';
import { useKeptFetcher } from '../ui/use-last-action-data.ts';
import { searchTerms, withoutTerm } from './filter-terms.ts';
import { ALL_TIME, isOpenEnded, presetLabel } from '../requests/time-range.ts';
import type { TrafficData } from './traffic-data.ts';
import { formatCount } from '../requests/traffic-row.ts';
import type { TrafficNavigation } from './use-traffic-query.ts';

const Middle = ({ children }: { readonly children: ReactNode }) => (
  <div className="min-h-0 flex-1 overflow-y-auto px-3 py-8">{children}</div>
);

/** A button that sends a first request. */
const SendForMe = ({ data, first }: { readonly data: TrafficData; readonly first: SampleRequest }) => {
  const { Form, isSending, answer, unsaved } = useKeptFetcher<{ readonly error?: string }>();
  const error = unsaved === undefined ? answer?.error : failureText(unsaved, 'sent');
  return (
    <>
      <Form method="post" action={paths.traffic(data.params)}>
        <Button type="submit" look="primary" disabled={isSending}>
          <Send aria-hidden /> {isSending ? 'Sending…' : `Send a ${first.method} request`}
        </Button>
      </Form>
      {error !== undefined && (
        <Notice look="bad" alert>
          {error}
        </Notice>
      )}
    </>
  );
};

const NothingYet = ({
  data,
  empty,
}: {
  readonly data: TrafficData;
  readonly empty: NonNullable<TrafficData['empty']>;
}) => {
  const { first, hasEndpoints } = empty;
  if (!hasEndpoints) {
    return (
      <EmptyState
        title="No captured requests"
        action={
          <Link to={paths.newEndpoint(data.params)} className={buttonClass('primary')}>
            Create endpoint
          </Link>
        }
      >
        Requests to endpoints appear here. This project has no endpoints yet, so every request is refused.
      </EmptyState>
    );
  }
  return (
    <div className="mx-auto flex max-w-2xl flex-col gap-6">
      <EmptyState
        title="No captured requests"
        action={
          first === undefined ? (
            <Link to={paths.endpoints(data.params)} className={buttonClass('primary')}>
              Show endpoints
            </Link>
          ) : first.isSafe ? (
            <SendForMe data={data} first={first} />
          ) : undefined
        }
      >
        {first === undefined
          ? 'No endpoint is ready. The conditions of each endpoint show why.'
          : 'Call an endpoint, and the request appears here about half a second later.'}{' '}
        Requests that the gateway refuses, for example because of a wrong key or an unknown path, are listed above
        instead.
      </EmptyState>
      {first !== undefined && <TryIt params={data.params} method={first.method} url={first.url} />}
    </div>
  );
};

export interface TrafficEmptyProps {
  readonly data: TrafficData;
  readonly navigation: TrafficNavigation;
  readonly isPaused: boolean;
  readonly waiting: number;
  readonly onResume: () => void;
}

/** Offers to remove one condition, the time range, or the whole search. */
const NoMatch = ({ data, navigation }: Pick<TrafficEmptyProps, 'data' | 'navigation'>) => {
  const { q, range } = data;
  const terms = searchTerms(q);
  const isTimed = range.from !== undefined || range.to !== undefined;
  return (
    <EmptyState
      title={q === '' ? 'No requests in this time range' : 'No matching requests'}
      action={
        <>
          {terms.length > 1 &&
            terms.map((term, index) => (
              <Button key={term} onClick={() => navigation.change({ q: withoutTerm(q, index) })}>
                Without <code>{term}</code>
              </Button>
            ))}
          {isTimed && <Button onClick={() => navigation.change({ range: ALL_TIME })}>Search all time</Button>}
          {q !== '' && (
            <Button look={isTimed ? 'secondary' : 'primary'} onClick={() => navigation.change({ q: '' })}>
              Clear search
            </Button>
          )}
        </>
      }
    >
      {q === '' ? (
        'No requests'
      ) : (
        <>
          Nothing matches <code className="break-all">{q}</code>
        </>
      )}
      {isTimed && ` in the ${(presetLabel(range) ?? 'selected time range').toLowerCase()}`}.
      {isOpenEnded(range) && ' New matching requests appear here.'}
      {terms.some((term) => /^(?:and|or|not)$/.test(term)) && ' AND, OR and NOT must be in capitals.'}
    </EmptyState>
  );
};

const Paused = ({ waiting, onResume }: Pick<TrafficEmptyProps, 'waiting' | 'onResume'>) => (
  <EmptyState
    title="Paused"
    action={
      <Button look="primary" onClick={onResume}>
        Resume
      </Button>
    }
  >
    {waiting === 0
      ? 'The list is paused. New requests appear when you resume.'
      : `${formatCount(waiting)} new ${waiting === 1 ? 'request is' : 'requests are'} waiting.`}
  </EmptyState>
);

/**
 * Explains why there are no rows: the list is paused, there are no requests yet, or nothing matches. Shows nothing if the log is
 * unavailable or the search is invalid, because the page reports that elsewhere.
 */
export const TrafficEmpty = ({ data, navigation, isPaused, waiting, onResume }: TrafficEmptyProps) => (
  <Middle>
    {data.unavailable !== undefined || data.problem !== undefined ? null : isPaused ? (
      <Paused waiting={waiting} onResume={onResume} />
    ) : data.empty !== undefined ? (
      <NothingYet data={data} empty={data.empty} />
    ) : (
      <NoMatch data={data} navigation={navigation} />
    )}
  </Middle>
);
