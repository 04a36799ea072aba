import type { EntryPreview, LogEntry } from '@standin/exchange';
import type { ProjectLog } from '../../src/backend.ts';
import { BODY_SHOWN_BYTES_MAX, headerValue, type BodyView, type ExchangeView } from './exchange-view.ts';

const bodyView = (
  { headers, body, bodyEncoding }: Pick<LogEntry['request'], 'headers' | 'body' | 'bodyEncoding'>,
  sizes: Pick<BodyView, 'bytes' | 'bytesCaptured' | 'bytesShown'>,
): BodyView => ({ contentType: headerValue(headers, 'content-type') ?? '', body, bodyEncoding, ...sizes });

const toExchangeView = ({ entry, ...sizes }: EntryPreview): ExchangeView => {
  const { request, response, ...rest } = entry;
  return {
    ...rest,
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
export const loadExchange = async (log: Pick<ProjectLog, 'preview'>, id: string): Promise<ExchangeView | undefined> => {
  const preview = await log.preview(id, BODY_SHOWN_BYTES_MAX);
  return preview && toExchangeView(preview);
};
