const day = new Intl.DateTimeFormat('en', { timeZone: 'UTC', day: 'numeric', month: 'short' });
const month = new Intl.DateTimeFormat('en', { timeZone: 'UTC', month: 'long', year: 'numeric' });

/** Formats a day: `2026-11-21` → `Nov 21`. The result is the same on the server and in every browser. */
export const formatDay = (text: string): string => day.format(new Date(`${text}T00:00:00Z`));
/** Formats a month: `2026-11` → `November 2026`. */
export const formatMonth = (text: string): string => month.format(new Date(`${text}-01T00:00:00Z`));
