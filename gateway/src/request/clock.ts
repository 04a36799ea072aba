/** The wall clock may deviate by this many milliseconds before the gateway's microseconds follow it. */
const STEP_MS = 2;

let wallMs = Date.now();
let monotonicMs = performance.now();

/**
 * Microseconds since the epoch at the time `nowMs` of `performance.now()`. `Date.now()` has only milliseconds, and
 * `performance.timeOrigin` ignores corrections of the clock since the process began.
 */
export const wallClockUs = (nowMs: number): number => {
  const estimateMs = wallMs + (nowMs - monotonicMs);
  const clockMs = Date.now();
  if (Math.abs(estimateMs - clockMs) > STEP_MS) {
    wallMs = clockMs;
    monotonicMs = nowMs;
    return clockMs * 1000;
  }
  return Math.floor(estimateMs * 1000);
};

let dateText = '';
let dateSecond = 0;

/** The value of `Date` for a moment in milliseconds since the epoch. The text is formatted once per second. */
export const httpDate = (nowMs: number): string => {
  const now = Math.floor(nowMs / 1000);
  if (now !== dateSecond) {
    dateSecond = now;
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
};
