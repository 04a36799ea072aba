import { delayUs } from '@standin/responses';
import type { Exchange } from './exchange.ts';
import { failureProblem } from './problem.ts';
import type { Mock } from './route.ts';

/** The exchange takes longer than it may. The message is for callers and for readers of the log. */
export class ExchangeTimeout extends Error {
  readonly code = 'exchange_timeout';

  constructor({ timeoutMs }: Exchange) {
    super(`The gateway ended the exchange, because it took longer than limits.exchangeTimeoutMs (${timeoutMs} ms).`);
  }
}

/**
 * Returns the mock, or the error that replaces it when its delay would exceed the time that is left for the exchange. The error is
 * sent at the end of that time. This is known before the delay, so the row can be recorded before it.
 */
export const mockInTime = (mock: Mock, id: string, exchange: Exchange): Mock => {
  const leftMs = Math.max(0, Math.floor(exchange.leftMs));
  if (delayUs(mock.delay, id) <= leftMs * 1_000) return mock;
  const { code, message } = new ExchangeTimeout(exchange);
  const { status, headers, body } = failureProblem(code, message);
  return {
    outcome: code,
    templateError: '',
    status,
    headers: (date) => [...headers, ['date', date]],
    bytes: body,
    wire: body,
    delay: { kind: 'Fixed', fixedMs: leftMs },
  };
};
