import { wireText } from '@standin/exchange/formats';
import { formatFilter } from '@standin/exchange/search';
import type { RequestName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { BodySection } from './body-section.tsx';
import { decodePair, splitPairs } from './body-views.ts';
import type { ExchangeView } from './exchange-view.ts';
import { PairList } from './pair-list.tsx';
import { WireValue } from './wire-value.tsx';

const KEY_HEADER = 'x-api-key';

/** Returns a note for the API key header, because its value is the only one that is not stored as received. */
const keyNote = (name: string): string | undefined =>
  name.toLowerCase() === KEY_HEADER ? 'Fingerprint of the key. The key itself is not stored.' : undefined;

export interface ExchangeTabProps {
  readonly view: ExchangeView;
  readonly exchange: RequestName;
}

/** Shows what the caller sent. */
export const RequestTab = ({ view, exchange }: ExchangeTabProps) => {
  const { request, query } = view;
  return (
    <>
      <div className="flex items-center gap-1 rounded border border-line bg-panel py-0.5 pr-0.5 pl-2">
        <code className="min-w-0 flex-1 break-all">
          <WireValue latin1={request.target} />
        </code>
        <CopyButton text={wireText(request.target).text} label="Copy target" className="size-6!" />
      </div>
      <CredentialList view={view} exchange={exchange} />
      <PairList
        title="Headers"
        pairs={request.headers}
        note={keyNote}
        aside={<span className="text-small text-muted">HTTP/{request.httpVersion}</span>}
      />
      {query !== '' && (
        <PairList title="Query" pairs={splitPairs(wireText(query).text).map(decodePair)} fromWire={false} />
      )}
      <BodySection exchange={exchange} part="request" body={request.body} />
      {request.trailers.length > 0 && <PairList title="Trailers" pairs={request.trailers} />}
    </>
  );
};

/** Shows what authenticated the request, and whether the provider sent the delivery before. */
const CredentialList = ({ view, exchange }: ExchangeTabProps) => {
  const { credential, keyFingerprint, deliveryId, earlierDeliveries, endpoint } = view;
  const to = paths.traffic(exchange, {
    q: formatFilter({
      kind: 'and',
      conditions: [
        { kind: 'matches', field: 'endpoint', pattern: [endpoint] },
        { kind: 'matches', field: 'delivery', pattern: [deliveryId] },
      ],
    }),
  });
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 text-small [&_dt]:text-muted">
      <dt>Authenticated by</dt>
      <dd>{credential === 'signature' ? 'Signature' : <>API key {keyFingerprint}</>}</dd>
      {deliveryId !== '' && (
        <>
          <dt>Delivery</dt>
          <dd className="break-all">
            <bdi className="font-mono">{wireText(deliveryId).text}</bdi>{' '}
            {earlierDeliveries > 0 && (
              <Link to={to} className="text-accent hover:underline">
                Delivered {earlierDeliveries === 1 ? 'once' : `${earlierDeliveries} times`} before
              </Link>
            )}
          </dd>
        </>
      )}
    </dl>
  );
};
