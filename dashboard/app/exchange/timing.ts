import type { LogEntry } from '@standin/exchange';

/** A step between the arrival of the head and the last byte of the response. Milliseconds since that arrival. */
export interface Stage {
  readonly name: string;
  readonly explanation: string;
  readonly fromMs: number;
  readonly toMs: number;
}

type Timed = Pick<LogEntry, 'action' | 'status' | 'durationMs' | 'requestMs' | 'upstreamFirstByteMs'>;

/** The stages that the log knows, one after the other without gaps. */
export const stagesOf = ({ action, status, durationMs, requestMs, upstreamFirstByteMs }: Timed): readonly Stage[] => {
  const receivedMs = Math.min(requestMs, durationMs);
  const received: Stage = {
    name: 'Request received',
    explanation: "From the head's arrival to the last byte of the body",
    fromMs: 0,
    toMs: receivedMs,
  };
  const rest = (name: string, explanation: string, fromMs = receivedMs): Stage => ({
    name,
    explanation,
    fromMs,
    toMs: durationMs,
  });
  if (status === 0) return [received];
  if (action === 'JSON') return [received, rest('Mock sent', 'Recorded, and sent to the last byte')];
  if (upstreamFirstByteMs === 0)
    return [received, rest('Upstream failed', 'Recorded, dialled, and failed. The caller received an error')];
  const firstByteMs = Math.min(receivedMs + upstreamFirstByteMs, durationMs);
  return [
    received,
    {
      name: 'Waiting for upstream',
      explanation: 'From dialling to the first byte of the response',
      fromMs: receivedMs,
      toMs: firstByteMs,
    },
    rest('Response forwarded', 'To the last byte, and recorded', firstByteMs),
  ];
};
