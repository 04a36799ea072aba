import type { LogSummary } from '@standin/exchange';

/** Columns of the CSV export, in this order. Columns are only ever added. */
const COLUMNS = [
  ['id', ({ id }) => id],
  ['received_at', ({ receivedAt }) => receivedAt],
  ['method', ({ method }) => method],
  ['path', ({ path }) => path],
  ['query', ({ query }) => query],
  ['status', ({ status }) => (status === 0 ? '' : String(status))],
  ['duration_ms', ({ durationMs }) => String(durationMs)],
  ['body_bytes', ({ bodyBytes }) => String(bodyBytes)],
  ['endpoint', ({ endpoint }) => endpoint],
  ['outcome', ({ outcome }) => outcome],
  ['project', ({ namespace, project }) => `${namespace}/${project}`],
] as const satisfies readonly (readonly [string, (summary: LogSummary) => string])[];

/** What a spreadsheet would run as a formula (OWASP, CSV injection). */
const isFormula = (text: string): boolean => /^[=+\-@\t\r\n]/.test(text);

const cell = (text: string): string => {
  const safe = isFormula(text) ? `'${text}` : text;
  return /["',;\s]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const line = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`;

/** RFC 4180. */
export const csvHeader = (): string => line(COLUMNS.map(([name]) => name));
export const csvLine = (summary: LogSummary): string => line(COLUMNS.map(([, read]) => read(summary)));
/** A last line with the reason why there are no more. */
export const csvNote = (note: string): string => line([note]);
