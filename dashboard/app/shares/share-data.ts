import type { SharedExchange } from '../../src/captured/shared-exchange.ts';

const HOUR_MS = 60 * 60_000;

/** The lifetimes that users can choose for a link. */
export const LIFETIMES = [
  { value: '1h', label: '1 hour', ms: HOUR_MS },
  { value: '24h', label: '24 hours', ms: 24 * HOUR_MS },
  { value: '7d', label: '7 days', ms: 7 * 24 * HOUR_MS },
  { value: '30d', label: '30 days', ms: 30 * 24 * HOUR_MS },
] as const;
export const LIFETIME_DEFAULT = '24h';

/** Form fields, named after the paths in a Share. Each contains one name or JSON path per line. */
export const RULE_FIELDS = {
  headers: 'spec.redact.headers',
  query: 'spec.redact.query',
  jsonPaths: 'spec.redact.jsonPaths',
} as const;
type RuleField = keyof typeof RULE_FIELDS;

type RuleTexts = Readonly<Record<RuleField, string>>;
export type FieldProblems = Readonly<Record<string, readonly string[]>>;

/** The data that the share dialog loads when it opens. */
export interface ShareDialogData {
  readonly kind: 'ready';
  /** False if the account plan does not include sharing. Undefined if the account cannot be read. */
  readonly isInPlan: boolean | undefined;
  readonly isLocal: boolean;
  readonly alwaysHidden: readonly string[];
  readonly rules: RuleTexts;
  readonly preview: SharedExchange;
}

/** A response to the dialog's form. */
export type ShareAnswer =
  | { readonly kind: 'preview'; readonly preview: SharedExchange }
  | { readonly kind: 'created'; readonly path: string; readonly expiresAt: string; readonly isAccepted: boolean }
  | { readonly kind: 'refused'; readonly message: string; readonly fields: FieldProblems };
