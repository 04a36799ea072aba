import type { HeaderPair } from '@standin/contract';

/** What differs between two answers to the same request: what is the same is not in it. All lists are bounded. */
export interface AnswerDiff {
  readonly status: { readonly before: number; readonly after: number };
  readonly durationMs: { readonly before: number; readonly after: number };
  readonly headers: readonly HeaderChange[];
  readonly body: BodyDiff;
}

/** One answer, as the log has it. */
export interface Answer {
  /** 0: none came. */
  readonly status: number;
  readonly durationMs: number;
  /** latin1. */
  readonly headers: readonly HeaderPair[];
  /** As sent; where it is `truncated`, its beginning. */
  readonly body: Uint8Array;
  readonly truncated: boolean;
  /** Its true size. */
  readonly bodyBytes: number;
}

/** Values of one name, latin1, in their order. No values: the header is not there. */
export interface HeaderChange {
  /** As `after` writes it, or `before` where it is gone. */
  readonly name: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** It speaks of the moment, and differs in any two answers: `date`. */
  readonly isPassing: boolean;
}

export type BodyDiff =
  | { readonly kind: 'same'; readonly bytes: number }
  /** By field; none differs where only the spelling does: spaces, order of keys, escapes. */
  | { readonly kind: 'json'; readonly changes: readonly JsonChange[]; readonly total: number }
  | { readonly kind: 'text'; readonly lines: readonly DiffLine[]; readonly total: number }
  /** `why`: what keeps it from being compared closer. */
  | { readonly kind: 'bytes'; readonly before: BytesView; readonly after: BytesView; readonly why: string };

/** What is undefined is not there. Values as they are written, cut where they are long. */
export interface JsonChange {
  /** `$.items[2].price` */
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export type DiffLine =
  | { readonly kind: 'same'; readonly before: number; readonly after: number; readonly text: string }
  | { readonly kind: 'removed'; readonly before: number; readonly text: string }
  | { readonly kind: 'added'; readonly after: number; readonly text: string }
  /** So many lines that are the same. */
  | { readonly kind: 'skipped'; readonly count: number };

export interface BytesView {
  readonly bytes: number;
  /** Lower-case hex; `undefined` where the body is not known whole. */
  readonly sha256: string | undefined;
}

/** Whether anything differs that somebody has to look at. */
export const isSameAnswer = ({ status, headers, body }: AnswerDiff): boolean =>
  status.before === status.after &&
  headers.every(({ isPassing }) => isPassing) &&
  (body.kind === 'same' || (body.kind === 'json' && body.total === 0));
