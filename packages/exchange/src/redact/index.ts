/**
 * Determines what a shared request hides. Runs only on servers, because the code needs Buffer, and because hidden data must not
 * reach a browser.
 */
export { defaultRedaction } from './default-redaction.ts';
export { redact, REDACTED_BODY_CHARS_MAX } from './redact.ts';
export type { RedactedBody, RedactedEntry, WithheldReason } from './redact.ts';
export { ALWAYS_HIDDEN } from './redaction-rules.ts';
export type { RedactionRules } from './redaction-rules.ts';
export type { HiddenField } from './redactor.ts';
export { isSensitiveName } from './sensitive-names.ts';
