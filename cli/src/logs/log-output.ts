/** How requests are printed: a line each, whole entries as JSON, or commands that send them again. */
export const LOG_OUTPUTS = ['text', 'json', 'curl'] as const;
export type LogOutput = (typeof LOG_OUTPUTS)[number];
