import type { HeaderPair } from '@standin/contract';

/**
 * The differences between two responses to the same request. Omits identical headers and, except for a few lines around each
 * change, identical parts of bodies. All lists are bounded.
 */
export interface ResponseDiff {
  readonly status: { readonly before: number; readonly after: number };
  readonly durationMs: { readonly before: number; readonly after: number };
  readonly headers: readonly HeaderChange[];
  readonly body: BodyDiff;
}

/** A response as the log stores it. */
export interface ComparedResponse {
  /** 0 if there was no response. */
  readonly status: number;
  readonly durationMs: number;
  /** In latin1. */
  readonly headers: readonly HeaderPair[];
  /** As sent. Contains only the beginning if `truncated` is true. */
  readonly body: Uint8Array;
  readonly truncated: boolean;
  /** Full size of the body. */
  readonly bodyBytes: number;
}

/**
 * A header whose values differ. `before` and `after` contain its values in order, in latin1, or are empty if the header is absent.
 */
export interface HeaderChange {
  /** Spelled as in `after`, or as in `before` if the header was removed. */
  readonly name: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Whether `isSameResponse` ignores the difference, as for `date`. */
  readonly isPassing: boolean;
}

export type BodyDiff =
  | { readonly kind: 'same'; readonly bytes: number }
  /** The changes by field. Ignores differences in whitespace, key order, escapes and the notation of numbers. */
  | { readonly kind: 'json'; readonly changes: readonly JsonChange[]; readonly total: number }
  | { readonly kind: 'text'; readonly lines: readonly DiffLine[]; readonly total: number }
  /** `why` explains why the bodies are not compared in more detail. */
  | { readonly kind: 'bytes'; readonly before: BytesView; readonly after: BytesView; readonly why: string };

/** `before` and `after` are undefined if the value is absent. Values are shown as written, and long ones are truncated. */
export interface JsonChange {
  /** Such as `$.items[2].price`. */
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** A line of a text diff. `before` and `after` are line numbers, which start at 1. */
export type DiffLine =
  | { readonly kind: 'same'; readonly before: number; readonly after: number; readonly text: string }
  | { readonly kind: 'removed'; readonly before: number; readonly text: string }
  | { readonly kind: 'added'; readonly after: number; readonly text: string }
  /** Number of identical lines that are not shown. */
  | { readonly kind: 'skipped'; readonly count: number };

export interface BytesView {
  readonly bytes: number;
  /** In lower-case hex. Undefined if the body is incomplete. */
  readonly sha256: string | undefined;
}

/** Returns whether the responses are the same, apart from the duration, headers with `isPassing`, and the formatting of JSON. */
export const isSameResponse = ({ status, headers, body }: ResponseDiff): boolean =>
  status.before === status.after &&
  headers.every(({ isPassing }) => isPassing) &&
  (body.kind === 'same' || (body.kind === 'json' && body.total === 0));
