import { RESPONSE_FAILURES } from '@standin/contract';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { Notice } from '../ui/notice.tsx';
import { BodySection } from './body-section.tsx';
import { mediaType } from './body-views.ts';
import type { ExchangeView } from './exchange-view.ts';
import { formatDuration } from '../requests/traffic-row.ts';
import { ExplanationPanel } from './explanation-panel.tsx';
import { LongValue } from './long-value.tsx';
import { HeaderList } from './header-list.tsx';
import { PairList } from './pair-list.tsx';
import type { ExchangeTabProps } from './request-tab.tsx';

/** Shows the response to the caller, if one was recorded, and where the response came from. */
export const ResponseTab = ({ view, exchange }: ExchangeTabProps) => (
  <>
    <Failures view={view} />
    {view.status !== 0 && (
      <>
        <BodySection exchange={exchange} part="response" body={view.response.body} />
        <HeaderList headers={view.response.headers} />
        {view.response.trailers.length > 0 && <PairList title="Trailers" pairs={view.response.trailers} />}
      </>
    )}
    <Source view={view} exchange={exchange} />
    <ExplanationPanel exchange={exchange} />
  </>
);

const FAILED: ReadonlySet<ExchangeView['outcome']> = new Set([
  'upstream_failed',
  'upstream_timeout',
  'exchange_timeout',
]);

/** Returns the error code (docs/reference/errors.md) from the gateway's response to a failure, if the body was captured. */
const failureCode = ({ outcome, response: { body } }: ExchangeView): string | undefined => {
  if (!FAILED.has(outcome)) return undefined;
  if (mediaType(body.contentType) !== 'application/problem+json') return undefined;
  return Object.keys(RESPONSE_FAILURES).find((code) => body.body.includes(`"code":"${code}"`));
};

/** Returns whether the upstream sent the response, or at least its beginning. Otherwise, the gateway sent an error instead. */
const isOfUpstream = (view: ExchangeView): boolean =>
  view.outcome === 'forwarded' || (view.upstreamFirstByteMs > 0 && failureCode(view) === undefined);

/** Names the part of the endpoint that responded, before the name of the endpoint. A response links to the requests that it answered. */
const Responder = ({ view, exchange }: ExchangeTabProps) => {
  const { outcome, status, responseName, endpoint } = view;
  if (responseName !== '') {
    const to = paths.traffic(exchange, { q: `endpoint:${endpoint} response:${responseName}` });
    return (
      <>
        Response{' '}
        <Link to={to} className="font-mono text-accent hover:underline">
          {responseName}
        </Link>{' '}
        of
      </>
    );
  }
  if (outcome === 'mocked' || outcome === 'template_failed') return 'Mock for';
  if (outcome === 'fallback') return 'Fallback of';
  if (outcome === 'exchange_timeout' && view.upstreamUrl === '') return 'Gateway, instead of the mock of';
  return status === 0 || isOfUpstream(view) ? 'Upstream of' : 'Gateway, instead of the upstream of';
};

/** Says what went wrong, if anything did. */
const Failures = ({ view }: Pick<ExchangeTabProps, 'view'>) => {
  const { outcome, upstreamError, templateError } = view;
  const code = failureCode(view);
  return (
    <>
      {outcome === 'in_progress' && (
        <Notice look="info">
          This request is in progress. The response appears when it is complete, the caller disconnects or the gateway
          stops. Reload the page to see it.
        </Notice>
      )}
      {outcome === 'response_unknown' && (
        <Notice look="bad">
          The gateway stopped before it recorded the response. The upstream may have received the request, and the
          caller may have received a response.
        </Notice>
      )}
      {outcome === 'exchange_timeout' && (
        <Notice look="bad">
          The gateway ended this exchange, because it took longer than the gateway allows: see the setting{' '}
          <code>limits.exchangeTimeoutMs</code>.{' '}
          {view.upstreamUrl === ''
            ? 'The delay of the mock was longer than that.'
            : isOfUpstream(view)
              ? 'The caller received the response up to that point.'
              : 'The upstream had not responded by then.'}
        </Notice>
      )}
      {upstreamError !== '' && outcome !== 'exchange_timeout' && (
        <Notice look="bad">
          {code !== undefined && (
            <>
              <code>{code}</code>{' '}
            </>
          )}
          {outcome === 'fallback' && 'The upstream failed, and the fallback responded: '}
          <bdi>{upstreamError}</bdi>
        </Notice>
      )}
      {templateError !== '' && (
        <Notice look="bad">
          A template of the response could not be rendered: <bdi>{templateError}</bdi>
        </Notice>
      )}
    </>
  );
};

const Source = ({ view, exchange }: ExchangeTabProps) => {
  const { status, endpoint, endpointGeneration, gateway, upstreamUrl, delayMs } = view;
  return (
    <section aria-label="Source of this response">
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 text-small [&_dt]:text-muted">
        <dt>{status === 0 ? 'Destination' : 'Responder'}</dt>
        <dd>
          <Responder view={view} exchange={exchange} />{' '}
          <Link to={paths.endpoint({ ...exchange, endpoint })} className="font-mono text-accent hover:underline">
            {endpoint}
          </Link>{' '}
          <span className="text-muted">(generation {endpointGeneration})</span>
        </dd>
        {delayMs > 0 && (
          <>
            <dt>Delay</dt>
            <dd className="tabular-nums">{formatDuration(delayMs)}</dd>
          </>
        )}
        {upstreamUrl !== '' && (
          <>
            <dt>Upstream URL</dt>
            <dd className="font-mono break-all">
              <LongValue label="Upstream URL" length={upstreamUrl.length}>
                <bdi>{upstreamUrl}</bdi>
              </LongValue>
            </dd>
          </>
        )}
        <dt>Gateway</dt>
        <dd className="font-mono break-all">{gateway}</dd>
      </dl>
    </section>
  );
};
