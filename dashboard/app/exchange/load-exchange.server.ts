import type { EntryPreview, LogEntry } from '@standin/exchange';
import type { Filter } from '@standin/exchange/search';
import type { ProjectLog } from '../../src/backend.ts';
import { BODY_SHOWN_BYTES_MAX, headerValue, type BodyView, type ExchangeView } from './exchange-view.ts';

const bodyView = (
  { headers, body, bodyEncoding }: Pick<LogEntry['request'], 'headers' | 'body' | 'bodyEncoding'>,
  sizes: Pick<BodyView, 'bytes' | 'bytesCaptured' | 'bytesShown'>,
): BodyView => ({ contentType: headerValue(headers, 'content-type') ?? '', body, bodyEncoding, ...sizes });

/** Returns the search for the deliveries with this id. */
const deliveriesWith = (deliveryId: string): Filter => ({
  kind: 'matches',
  field: 'delivery',
  pattern: [deliveryId],
});

const countEarlier = async (log: Pick<ProjectLog, 'count'>, entry: LogEntry): Promise<number> => {
  const { endpoint, deliveryId, receivedAt } = entry;
  if (deliveryId === '') return 0;
  return log.count({ endpoint, search: deliveriesWith(deliveryId), until: new Date(receivedAt) });
};

const toExchangeView = ({ entry, ...sizes }: EntryPreview, earlierDeliveries: number): ExchangeView => {
  const { request, response, ...rest } = entry;
  return {
    ...rest,
    earlierDeliveries,
    request: {
      target: request.target,
      httpVersion: request.httpVersion,
      headers: request.headers,
      trailers: request.trailers,
      body: bodyView(request, {
        bytes: sizes.requestBodyBytes,
        bytesCaptured: sizes.requestBodyBytes,
        bytesShown: sizes.requestBodyBytesShown,
      }),
    },
    response: {
      headers: response.headers,
      trailers: response.trailers,
      body: bodyView(response, {
        bytes: response.bodyBytes,
        bytesCaptured: sizes.responseBodyBytes,
        bytesShown: sizes.responseBodyBytesShown,
      }),
    },
  };
};

/**
 * Loads one exchange. Returns undefined if the project's log does not contain the exchange or the exchange has expired. Rejects
 * with a `LogStoreError` if the log is unavailable.
 */
export const loadExchange = async (
  log: Pick<ProjectLog, 'preview' | 'count'>,
  id: string,
): Promise<ExchangeView | undefined> => {
  const preview = await log.preview(id, BODY_SHOWN_BYTES_MAX);
  return preview && toExchangeView(preview, await countEarlier(log, preview.entry));
};
