import type { ReplayPhase } from '@standin/contract';
import { ownMember } from '@standin/contract';
import type { Tone } from '../ui/badge.tsx';

/** A Replay as shown on pages. */
export interface ReplayView {
  readonly replay: string;
  readonly uid: string;
  /** For the forms that change the replay. */
  readonly version: string;
  readonly createdAt: string;
  readonly what:
    | { readonly kind: 'one'; readonly requestId: string; readonly isEdited: boolean }
    | { readonly kind: 'many'; readonly search: string; readonly from: string; readonly to: string };
  readonly target: string;
  /** The URL if the target is `URL`, otherwise empty. */
  readonly url: string;
  readonly ratePerSecond: number;
  readonly isOrdered: boolean;
  /** The requested state, such as `Suspended`. */
  readonly state: string;
  readonly phase: ReplayPhase;
  /** The number of requests to send. Undefined if the operator has not counted them yet. */
  readonly planned: number | undefined;
  readonly sent: number;
  readonly failed: number;
  readonly byStatus: readonly { readonly status: number; readonly count: number }[];
  readonly startedAt: string | undefined;
  readonly completedAt: string | undefined;
  readonly result: { readonly status: number; readonly durationMs: number } | undefined;
  /** The operator's message about the progress or the end of the replay. */
  readonly message: string;
}

const FINAL: ReadonlySet<ReplayPhase> = new Set(['Succeeded', 'Failed', 'Cancelled']);
export const hasEnded = ({ phase }: Pick<ReplayView, 'phase'>): boolean => FINAL.has(phase);

export const TONE_OF_PHASE: Readonly<Record<ReplayPhase, Tone>> = {
  Pending: '1xx',
  Running: '3xx',
  Suspended: '1xx',
  Succeeded: '2xx',
  Failed: '5xx',
  Cancelled: 'none',
};

/** For several requests, which may have different endpoints. */
const TARGETS_WORDS: Readonly<Record<string, string>> = {
  Endpoint: 'their original endpoints',
  Upstream: 'their original upstreams',
};
const TARGET_WORDS: Readonly<Record<string, string>> = {
  Endpoint: 'the original endpoint',
  Upstream: 'the original upstream',
};

/** Returns the target in words, such as `the original endpoint`, or the URL. */
export const targetInWords = ({ target, url }: Pick<ReplayView, 'target' | 'url'>, isMany = false): string =>
  ownMember(isMany ? TARGETS_WORDS : TARGET_WORDS, target) ?? url;

/** Formats an approximate duration: `40 s`, `65 min`, `1 h 35 min`. */
export const inWords = (seconds: number): string => {
  if (seconds < 1) return 'less than a second';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
};
