import type { LogRow } from '@standin/contract';
import { buildRow } from '../record/build-row.ts';
import type { Accepted } from '../request/accepted.ts';
import type { Mock } from '../request/route.ts';

/** Returns the row for the complete exchange. The whole row is known before the mock is sent. */
export const buildMockRow = (accepted: Accepted, mock: Mock): LogRow => {
  const { status, bytes } = mock;
  return buildRow(accepted, {
    outcome: 'mocked',
    status,
    headers: mock.headers(accepted.exchange.date()),
    trailers: [],
    body: bytes,
    bodyBytes: bytes.length,
    isTruncated: false,
    upstreamUrl: '',
    upstreamError: '',
    upstreamFirstByteUs: 0,
  });
};

/** Sends the mock verbatim. */
export const respond = ({ exchange }: Accepted, mock: Mock): void =>
  exchange.answer(mock.status, mock.headers(exchange.date()), mock.wire);
