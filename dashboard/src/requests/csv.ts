import type { LogSummary } from '@standin/exchange';

/** Columns of the CSV export, in order. Columns may be added, but never renamed or removed. */
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
  ['response', ({ responseName }) => responseName],
  ['credential', ({ credential }) => credential],
  ['delivery_id', ({ deliveryId }) => deliveryId],
] as const satisfies readonly (readonly [string, (summary: LogSummary) => string])[];

/** Returns whether a spreadsheet would interpret the text as a formula (OWASP, CSV injection). */
const isFormula = (text: string): boolean => /^[=+\-@\t\r\n]/.test(text);

const cell = (text: string): string => {
  const safe = isFormula(text) ? `'${text}` : text;
  return /["',;\s]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const line = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`;

/** Returns the header line (RFC 4180). */
export const csvHeader = (): string => line(COLUMNS.map(([name]) => name));
export const csvLine = (summary: LogSummary): string => line(COLUMNS.map(([, read]) => read(summary)));
/** Returns a final line that explains why the export is incomplete. */
export const csvNote = (note: string): string => line([note]);
