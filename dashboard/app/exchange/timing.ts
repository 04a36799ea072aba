import type { LogEntry } from '@standin/exchange';

/**
 * A step between the arrival of the headers and the last byte of the response. Times are in milliseconds since the arrival of the
 * headers.
 */
export interface Stage {
  readonly name: string;
  readonly explanation: string;
  readonly fromMs: number;
  readonly toMs: number;
}

type Timed = Pick<LogEntry, 'outcome' | 'status' | 'durationMs' | 'requestMs' | 'upstreamFirstByteMs' | 'delayMs'>;

/** In order, without gaps. */
export const recordedStages = (timed: Timed): readonly Stage[] => {
  const { outcome, status, durationMs, requestMs, upstreamFirstByteMs, delayMs } = timed;
  const receivedMs = Math.min(requestMs, durationMs);
  const received: Stage = {
    name: 'Request received',
    explanation: 'From the headers to the last byte of the body',
    fromMs: 0,
    toMs: receivedMs,
  };
  const rest = (name: string, explanation: string, fromMs = receivedMs): Stage => ({
    name,
    explanation,
    fromMs,
    toMs: durationMs,
  });
  if (outcome === 'caller_gone' && status === 0 && delayMs > 0)
    return [received, rest('Delay', 'From the end of the request until the caller disconnected')];
  if (outcome === 'caller_gone' && status === 0)
    return [
      received,
      rest(
        'Waiting for upstream',
        'From the end of the request until the gateway stopped waiting, because the caller had disconnected',
      ),
    ];
  if (status === 0) return [received];
  if (outcome === 'mocked' || outcome === 'template_failed' || (outcome === 'exchange_timeout' && delayMs > 0)) {
    const [sent, what] = outcome === 'mocked' ? ['Mock sent', 'response'] : ['Error sent', 'error'];
    if (delayMs === 0)
      return [received, rest(sent, `From the end of the request until the ${what} was sent and recorded`)];
    const delayedMs = Math.min(receivedMs + delayMs, durationMs);
    return [
      received,
      { name: 'Delay', explanation: 'The planned delay of the response', fromMs: receivedMs, toMs: delayedMs },
      rest(sent, `From the end of the delay until the ${what} was sent and recorded`, delayedMs),
    ];
  }
  if (outcome === 'fallback' && delayMs > 0) {
    const failedMs = Math.max(receivedMs, durationMs - delayMs);
    return [
      received,
      {
        name: 'Upstream failed',
        explanation: 'From the end of the request until the fallback was recorded',
        fromMs: receivedMs,
        toMs: failedMs,
      },
      rest('Delay', 'The planned delay of the fallback', failedMs),
    ];
  }
  if (outcome === 'fallback')
    return [
      received,
      rest(
        'Fallback sent',
        'From the end of the request, including the call to the upstream, until the fallback was sent',
      ),
    ];
  if (upstreamFirstByteMs === 0)
    return [
      received,
      rest('No upstream response', 'From the end of the request until the gateway returned an error to the caller'),
    ];
  const firstByteMs = Math.min(receivedMs + upstreamFirstByteMs, durationMs);
  return [
    received,
    {
      name: 'Waiting for upstream',
      explanation: 'From the call to the upstream until the first byte of its response',
      fromMs: receivedMs,
      toMs: firstByteMs,
    },
    rest('Response forwarded', 'From the first byte of the response until it was sent and recorded', firstByteMs),
  ];
};
