/** How far the microsecond clock may deviate from the wall clock before it is set to the wall clock. */
export const CLOCK_STEP_MS = 2;

let wallMs = Date.now();
let monotonicMs = performance.now();

/**
 * Returns microseconds since the epoch for the `performance.now()` time `nowMs`. `Date.now()` has only milliseconds, and
 * `performance.timeOrigin` ignores clock corrections since the process began.
 */
export const wallClockUs = (nowMs: number): number => {
  const estimateMs = wallMs + (nowMs - monotonicMs);
  const clockMs = Date.now();
  if (Math.abs(estimateMs - clockMs) > CLOCK_STEP_MS) {
    wallMs = clockMs;
    monotonicMs = nowMs;
    return clockMs * 1000;
  }
  return Math.floor(estimateMs * 1000);
};

let dateText = '';
let dateSecond = 0;

/** Returns the `Date` header value for a time in milliseconds since the epoch. Formats the text once per second. */
export const httpDate = (nowMs: number): string => {
  const now = Math.floor(nowMs / 1000);
  if (now !== dateSecond) {
    dateSecond = now;
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
};
