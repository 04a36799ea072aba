import { parseInstant } from '@standin/contract';
import type { EntryPreview, LogEntry } from '@standin/exchange';
import type { Filter } from '@standin/exchange/search';
import type { ProjectLog } from '../../src/backend.ts';
import { unmockableReason } from '../../src/captured/mock-of-response.ts';
import { BODY_SHOWN_BYTES_MAX, headerValue, type BodyView, type ExchangeView } from './exchange-view.ts';

const bodyView = (
  { headers, body, bodyEncoding }: Pick<LogEntry['request'], 'headers' | 'body' | 'bodyEncoding'>,
  sizes: Pick<BodyView, 'bytes' | 'bytesCaptured' | 'bytesShown' | 'decoded'>,
): BodyView => ({ contentType: headerValue(headers, 'content-type') ?? '', body, bodyEncoding, ...sizes });

/** Returns the search for the deliveries with this id. */
const deliveriesWith = (deliveryId: string): Filter => ({
  kind: 'matches',
  field: 'delivery',
  pattern: [deliveryId],
});

type DeliveryLog = Pick<ProjectLog, 'count' | 'summaries'>;

const findEarlier = async (log: DeliveryLog, entry: LogEntry): Promise<ExchangeView['earlier']> => {
  const { endpoint, deliveryId, receivedAt } = entry;
  if (deliveryId === '') return undefined;
  const earlier = { endpoint, search: deliveriesWith(deliveryId), untilUs: parseInstant(receivedAt) };
  const [count, [first]] = await Promise.all([
    log.count(earlier),
    log.summaries({ ...earlier, order: 'oldest-first', limit: 1 }),
  ]);
  return first && { count, first: { id: first.id, receivedAt: first.receivedAt } };
};

const toExchangeView = ({ entry, ...sizes }: EntryPreview, earlier: ExchangeView['earlier']): ExchangeView => {
  const { request, response, ...rest } = entry;
  return {
    ...rest,
    earlier,
    canBeMock: unmockableReason(entry) === undefined && !entry.response.truncated,
    request: {
      target: request.target,
      httpVersion: request.httpVersion,
      headers: request.headers,
      trailers: request.trailers,
      body: bodyView(request, {
        bytes: sizes.requestBodyBytes,
        bytesCaptured: sizes.requestBodyBytes,
        bytesShown: sizes.requestBodyBytesShown,
        decoded: sizes.requestText,
      }),
    },
    response: {
      headers: response.headers,
      trailers: response.trailers,
      body: bodyView(response, {
        bytes: response.bodyBytes,
        bytesCaptured: sizes.responseBodyBytes,
        bytesShown: sizes.responseBodyBytesShown,
        decoded: sizes.responseText,
      }),
    },
  };
};

/**
 * Loads one exchange. Returns undefined if the project's log does not contain the exchange or the exchange has expired. Rejects
 * with a `LogStoreError` if the log is unavailable.
 */
export const loadExchange = async (
  log: DeliveryLog & Pick<ProjectLog, 'preview'>,
  id: string,
): Promise<ExchangeView | undefined> => {
  const preview = await log.preview(id, BODY_SHOWN_BYTES_MAX);
  return preview && toExchangeView(preview, await findEarlier(log, preview.entry));
};
