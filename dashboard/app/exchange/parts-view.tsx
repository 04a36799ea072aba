import {
  decodeUtf8,
  latin1Text,
  multipartBoundary,
  parseMultipart,
  wireText,
  type MultipartItem,
} from '@standin/exchange/formats';
import { Download } from 'lucide-react';
import { useMemo } from 'react';
import type { RequestName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { formatBytes } from '../requests/traffic-row.ts';
import { bodyBytes, isBinary } from './body-views.ts';
import { headerValue, type BodyPart, type BodyView } from './exchange-view.ts';

/** The maximum number of parts on the page, because more parts would be slow to render. The downloaded body contains all parts. */
const ITEMS_SHOWN_MAX = 100;
/** The maximum number of characters shown of a part's text. The downloaded body contains the whole text. */
const TEXT_SHOWN_MAX = 2_000;

export interface PartsViewProps {
  readonly exchange: RequestName;
  readonly part: BodyPart;
  readonly body: BodyView;
}

/** Shows the parts of a multipart body. */
export const PartsView = ({ exchange, part, body }: PartsViewProps) => {
  const bytes = useMemo(() => bodyBytes(body), [body]);
  const items = useMemo(
    () => parseMultipart(latin1Text(bytes), multipartBoundary(body.contentType) ?? ''),
    [bytes, body],
  );
  if (items.length === 0)
    return (
      <p className="text-muted">
        {body.bytesShown < body.bytes
          ? 'The beginning of the body contains no boundary. Only the beginning is searched here. Download the body to see the rest.'
          : 'The body does not contain the boundary from its content-type header. To see the body, choose another view.'}
      </p>
    );
  return (
    <>
      <ul aria-label={`Parts of the ${part} body`} className="rounded border border-line">
        {items.slice(0, ITEMS_SHOWN_MAX).map((item, index) => (
          <Item
            key={index}
            item={item}
            content={bytes.subarray(item.start, item.end)}
            download={paths.exchangeBody(exchange, { part, item: String(index) })}
          />
        ))}
      </ul>
      {items.length > ITEMS_SHOWN_MAX && (
        <p className="text-small text-muted">
          Showing the first {ITEMS_SHOWN_MAX} parts. Download the body to see all of them.
        </p>
      )}
    </>
  );
};

interface ItemProps {
  readonly item: MultipartItem;
  readonly content: Uint8Array;
  readonly download: string;
}

const Item = ({ item: { headers, name, fileName, isWhole }, content, download }: ItemProps) => {
  const text = decodeUtf8(content);
  const title = wireText(name ?? 'unnamed').text;
  return (
    <li className="flex items-start gap-2 border-b border-line px-2 py-1.5 last:border-b-0">
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className="flex flex-wrap items-baseline gap-x-3 break-all">
          <bdi className="font-mono text-small font-medium">{title}</bdi>
          {fileName !== undefined && <bdi className="font-mono text-small">{wireText(fileName).text}</bdi>}
          <span className="text-small text-muted">
            {headerValue(headers, 'content-type') ?? 'text/plain'} · {isWhole ? '' : 'at least '}
            {formatBytes(content.length)}
          </span>
        </p>
        {text !== undefined && text !== '' && !isBinary(text) && (
          <pre
            className="max-h-48 overflow-y-auto break-words whitespace-pre-wrap"
            tabIndex={0}
            aria-label={`Text of ${title}`}
            role="group"
          >
            <bdi>{text.slice(0, TEXT_SHOWN_MAX)}</bdi>
            {text.length > TEXT_SHOWN_MAX && <span className="text-muted"> … Download this part to see the rest.</span>}
          </pre>
        )}
      </div>
      <a
        href={download}
        download
        aria-label={`Download ${title}`}
        title={`Download ${title}`}
        className="inline-flex size-7 shrink-0 items-center justify-center rounded text-muted hover:bg-hover hover:text-text"
      >
        <Download aria-hidden className="size-4" />
      </a>
    </li>
  );
};
