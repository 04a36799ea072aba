import { printableJson } from './printable.ts';

/**
 * pino's options for the log of a process: the level as text, and the time as RFC 3339. Lines about an object have its `namespace`
 * and `name`.
 */
export const LOG_FORMAT = {
  formatters: { level: (level: string) => ({ level }) },
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
  hooks: { streamWrite: printableJson },
};
