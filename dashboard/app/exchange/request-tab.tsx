import { wireText } from '@standin/exchange/formats';
import type { RequestName } from '../../src/resources/names.ts';
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
export const RequestTab = ({ view: { request, query }, exchange }: ExchangeTabProps) => (
  <>
    <div className="flex items-center gap-1 rounded border border-line bg-panel py-0.5 pr-0.5 pl-2">
      <code className="min-w-0 flex-1 break-all">
        <WireValue latin1={request.target} />
      </code>
      <CopyButton text={wireText(request.target).text} label="Copy target" className="size-6!" />
    </div>
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
