import { LIMITS, type DelayConfig } from '@standin/contract';

/** The 99th percentile of the standard normal distribution. */
const NORMAL_P99 = 2.3263478740408408;

/**
 * Returns the delay of the response to a request, in microseconds, or 0 without a configuration. The request's id determines it, so
 * that the same captured request always has the same delay.
 */
export const delayUs = (delay: DelayConfig | undefined, requestId: string): number =>
  delay === undefined ? 0 : Math.round(delayMs(delay, requestId) * 1_000);

const delayMs = (delay: DelayConfig, requestId: string): number => {
  switch (delay.kind) {
    case 'Fixed':
      return delay.fixedMs;
    case 'Uniform':
      return delay.minMs + uniform(requestId, 1) * (delay.maxMs - delay.minMs);
    case 'LogNormal': {
      const exponent = normal(requestId) / NORMAL_P99;
      return Math.min(delay.medianMs * (delay.p99Ms / delay.medianMs) ** exponent, LIMITS.responseDelayMsMax);
    }
  }
};

/** Returns a value of the standard normal distribution (Box-Muller transform). */
const normal = (text: string): number =>
  Math.sqrt(-2 * Math.log(uniform(text, 1))) * Math.cos(2 * Math.PI * uniform(text, 2));

/** Returns a number between 0 and 1, without both: the hash of the text (FNV-1a, then the finalizer of MurmurHash3). */
const uniform = (text: string, seed: number): number => {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32 + 2 ** -33;
};
