import { buildRow } from '../record/build-row.ts';
import type { Recorder } from '../record/recorder.ts';
import type { Accepted } from '../request/accepted.ts';
import { retryLater, type Refusal } from '../request/refusal.ts';
import type { Mock } from '../request/route.ts';

/** Records the exchange, then sends the mock verbatim. */
export const respond = async (accepted: Accepted, mock: Mock, recorder: Recorder): Promise<Refusal | undefined> => {
  const { exchange } = accepted;
  const headers = mock.headers(exchange.date());
  const { status, bytes } = mock;
  const isRecorded = await recorder.exchange(
    buildRow(accepted, {
      outcome: 'mocked',
      status,
      headers,
      trailers: [],
      body: bytes,
      bodyBytes: bytes.length,
      isTruncated: false,
      upstreamUrl: '',
      upstreamError: '',
      upstreamFirstByteUs: 0,
    }),
  );
  if (!isRecorded) return retryLater('log_unavailable');
  exchange.answer(status, headers, mock.wire);
  return undefined;
};
