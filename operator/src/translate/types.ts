import type {
  ConditionReason,
  ConfigKey,
  ConfigKind,
  ConfigObject,
  ObjectRef,
  Plan,
  ResourceObject,
} from '@standin/contract';
import type { ParsedObject, Problem } from '@standin/crds';
import type { Claimant } from './claims.ts';

/** An object from which configuration follows; acts (Replay, Share) are none of the translator's business. */
export type ConfigResource = ResourceObject & { readonly kind: ConfigKind };
export type ConfigRef = ObjectRef & { readonly kind: ConfigKind };

/** What is known of an Account's API key. `pending`: its Secret was not read yet. */
export type KeyState =
  | { readonly kind: 'key'; readonly sha256: string }
  | { readonly kind: 'missing'; readonly secretName: string }
  | { readonly kind: 'invalid'; readonly secretName: string; readonly message: string }
  | { readonly kind: 'pending' };

/** The key that was read last, and from which Secret. */
export interface KnownKey {
  readonly secretName: string;
  readonly key: KeyState;
}

export interface TranslateSettings {
  /** Base URL of the gateways, without a slash at its end. */
  readonly gatewayUrl: string;
  /** Why the address policy refuses an upstream; undefined if it does not, or cannot tell before the name is looked up. */
  readonly checkUpstream: (url: URL) => string | undefined;
  /** Of accounts without `monthlyQuota`; undefined: as many as come. */
  readonly quotaByPlan: Readonly<Record<Plan, number | undefined>>;
  /** What the DNS names of Services end with: `cluster.local`. */
  readonly clusterDomain: string;
  /** Most days that a project's log entries are kept. */
  readonly retentionDaysMax: number;
}

/** A condition in the making. */
export interface Finding {
  readonly ok: boolean;
  readonly reason: ConditionReason;
  /** What is wrong and what to change, at most `LIMITS.conditionMessageLengthMax` characters. */
  readonly message: string;
  /** The field that it is about: `spec.json.body`. */
  readonly path?: string;
}

/** All that follows from the desired state for one object. */
export interface Verdict {
  readonly ref: ConfigRef;
  readonly uid: string;
  /** The generation that was looked at. */
  readonly generation: number;
  readonly accepted: Finding;
  readonly resolvedRefs: Finding;
  /** What the gateways get of it; undefined: nothing. */
  readonly configKey: ConfigKey | undefined;
  /** Derived fields of its status, other than the conditions; undefined removes a field. */
  readonly status: Readonly<Record<string, unknown>>;
  /** Accounts: where the API key is to be read, and whether the operator makes it. */
  readonly keySecret?: { readonly secretName: string; readonly generated: boolean };
  /** Accounts: requests that may be accepted in a calendar month; undefined: as many as come. */
  readonly quota?: number | undefined;
}

/** What differs from the flush before. */
export interface Changes {
  readonly put: readonly ConfigObject[];
  readonly remove: readonly ConfigKey[];
  /** Of objects that exist. */
  readonly verdicts: readonly Verdict[];
}

/** Verdict and configuration of one object. */
export interface Evaluation {
  readonly verdict: Verdict;
  readonly config: ConfigObject | undefined;
}

export type ParsedConfig = Extract<ParsedObject, { readonly kind: ConfigKind }>;

/** An object as the translator keeps it. */
export interface Entry extends Claimant {
  readonly ref: ConfigRef;
  readonly uid: string;
  readonly generation: number;
  readonly createdAtMs: number;
  /** Undefined if the spec cannot be read. */
  readonly parsed: ParsedConfig | undefined;
  /** What is wrong with the object itself, whatever else exists. */
  readonly problems: readonly Problem[];
  /** What it claims; only a valid object claims anything. */
  claim: string | undefined;
  /** Of the last flush. */
  evaluation: Evaluation | undefined;
}
