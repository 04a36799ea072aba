import type { HeaderPair } from '@standin/contract';

/** The differences between two responses to the same request. Identical parts are left out. All lists are bounded. */
export interface AnswerDiff {
  readonly status: { readonly before: number; readonly after: number };
  readonly durationMs: { readonly before: number; readonly after: number };
  readonly headers: readonly HeaderChange[];
  readonly body: BodyDiff;
}

/** One response, as the log stores it. */
export interface Answer {
  /** 0: no response. */
  readonly status: number;
  readonly durationMs: number;
  /** latin1. */
  readonly headers: readonly HeaderPair[];
  /** As sent. If `truncated`, only its beginning. */
  readonly body: Uint8Array;
  readonly truncated: boolean;
  /** Its true size. */
  readonly bodyBytes: number;
}

/** Values of one name, latin1, in their order. Empty: the header is absent. */
export interface HeaderChange {
  /** In the spelling of `after`, or of `before` if the header was removed. */
  readonly name: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The header describes the moment, so that it differs in any two responses: `date`. */
  readonly isPassing: boolean;
}

export type BodyDiff =
  | { readonly kind: 'same'; readonly bytes: number }
  /** The changes by field. Differences in spelling only are ignored: spaces, order of keys, escapes. */
  | { readonly kind: 'json'; readonly changes: readonly JsonChange[]; readonly total: number }
  | { readonly kind: 'text'; readonly lines: readonly DiffLine[]; readonly total: number }
  /** `why`: the reason why it is not compared in more detail. */
  | { readonly kind: 'bytes'; readonly before: BytesView; readonly after: BytesView; readonly why: string };

/** Undefined: absent. Values are as written. Long ones are cut. */
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
  /** Number of identical lines. */
  | { readonly kind: 'skipped'; readonly count: number };

export interface BytesView {
  readonly bytes: number;
  /** Lower-case hex. Undefined: the body is incomplete. */
  readonly sha256: string | undefined;
}

/** True if nothing differs that a user has to look at. */
export const isSameAnswer = ({ status, headers, body }: AnswerDiff): boolean =>
  status.before === status.after &&
  headers.every(({ isPassing }) => isPassing) &&
  (body.kind === 'same' || (body.kind === 'json' && body.total === 0));
