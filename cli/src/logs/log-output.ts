/** How requests are printed: one line each, full entries as JSON, or commands that send them again. */
export const LOG_OUTPUTS = ['text', 'json', 'curl'] as const;
export type LogOutput = (typeof LOG_OUTPUTS)[number];
