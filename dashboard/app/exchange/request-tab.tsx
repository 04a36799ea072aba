import { wireText } from '@standin/exchange/formats';
import { formatFilter } from '@standin/exchange/search';
import type { RequestName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Notice } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { usePreferences } from '../shell/preferences.ts';
import { BodySection } from './body-section.tsx';
import { decodePair, splitPairs } from './body-views.ts';
import type { ExchangeView } from './exchange-view.ts';
import { LongValue } from './long-value.tsx';
import { HeaderList } from './header-list.tsx';
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
      <EarlierDeliveries view={view} exchange={exchange} />
      <div className="flex items-center gap-1 rounded border border-line bg-panel py-0.5 pr-0.5 pl-2">
        <code className="min-w-0 flex-1 break-all">
          <LongValue label="Target" length={request.target.length}>
            <WireValue latin1={request.target} />
          </LongValue>
        </code>
        <CopyButton text={wireText(request.target).text} label="Copy target" className="size-6!" />
      </div>
      <BodySection exchange={exchange} part="request" body={request.body} />
      {query !== '' && (
        <PairList title="Query" pairs={splitPairs(wireText(query).text).map(decodePair)} fromWire={false} />
      )}
      <HeaderList headers={request.headers} note={keyNote} />
      {request.trailers.length > 0 && <PairList title="Trailers" pairs={request.trailers} />}
      <CredentialList view={view} />
    </>
  );
};

/** Warns if the endpoint accepted the same delivery before, and links to the first of these requests. */
const EarlierDeliveries = ({ view, exchange }: ExchangeTabProps) => {
  const { deliveryId, endpoint, earlier } = view;
  const { time } = usePreferences();
  if (earlier === undefined) return null;
  const { count, first } = earlier;
  const all = paths.traffic(exchange, {
    q: formatFilter({
      kind: 'and',
      conditions: [
        { kind: 'matches', field: 'endpoint', pattern: [endpoint] },
        { kind: 'matches', field: 'delivery', pattern: [deliveryId] },
      ],
    }),
  });
  return (
    <Notice look="info">
      Delivered {count === 1 ? 'once' : `${count} times`} before. Senders repeat a delivery if the response was not
      successful, or if someone sends it again. See{' '}
      <Link to={paths.exchange({ ...exchange, id: first.id })} className="text-accent underline">
        the first delivery
      </Link>{' '}
      (<Time at={first.receivedAt} zone={time} />) or{' '}
      <Link to={all} className="text-accent underline">
        all deliveries
      </Link>
      .
    </Notice>
  );
};

/** Shows what authenticated the request, and the provider's id of the delivery. */
const CredentialList = ({ view: { credential, keyFingerprint, deliveryId } }: Pick<ExchangeTabProps, 'view'>) => (
  <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 text-small [&_dt]:text-muted">
    <dt>Authenticated by</dt>
    <dd>{credential === 'signature' ? 'Signature' : <>API key {keyFingerprint}</>}</dd>
    {deliveryId !== '' && (
      <>
        <dt>Delivery</dt>
        <dd className="font-mono break-all">
          <bdi>{wireText(deliveryId).text}</bdi>
        </dd>
      </>
    )}
  </dl>
);
