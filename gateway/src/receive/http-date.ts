let text = '';
let second = 0;

/** The value of `Date` for a moment in milliseconds since the epoch; made anew once a second. */
export const httpDate = (nowMs: number): string => {
  const now = Math.floor(nowMs / 1000);
  if (now !== second) {
    second = now;
    text = new Date(nowMs).toUTCString();
  }
  return text;
};
