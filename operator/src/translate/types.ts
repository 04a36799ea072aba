import type {
  ConditionReason,
  ConfigKey,
  ConfigKind,
  ConfigObject,
  ObjectRef,
  Plan,
  ResourceObject,
  SecretUse,
  SignatureScheme,
} from '@standin/contract';
import type { ParsedObject, Problem } from '@standin/crds';
import type { Claimant } from './claims.ts';

/** An object that produces configuration. The translator ignores one-time operations, such as Replays. */
export type ConfigResource = ResourceObject & { readonly kind: ConfigKind };
export type ConfigRef = ObjectRef & { readonly kind: ConfigKind };

/** The state of an Account's API key. The state is `pending` if the key's Secret has not been read yet. */
export type KeyState =
  | { readonly kind: 'key'; readonly sha256: string }
  | { readonly kind: 'missing'; readonly secretName: string }
  | { readonly kind: 'invalid'; readonly secretName: string; readonly message: string }
  | { readonly kind: 'pending' };

/** The state of a key when it was last read, and the name of its Secret. */
export interface KnownKey {
  readonly secretName: string;
  readonly key: KeyState;
}

/** The format that a value of a Secret needs: that of a scheme's signing secrets, or that of a header. */
export type SecretFormat = SignatureScheme | 'Header';

export type SecretValue =
  { readonly id: string; readonly unusableAs?: readonly SecretFormat[] } | { readonly problem: string };

/**
 * The state of a Secret that Endpoints refer to, without the values. For a usable value, `id` stands for the value (see
 * `CredentialConfig`), and `unusableAs` lists the formats that it does not have. `problem` is the rest of a sentence about the value.
 */
export type SecretState =
  | {
      readonly kind: 'found';
      readonly uses: readonly SecretUse[];
      /** The origins that may get the values, as `URL` writes them. Can be thousands, which are compared for each of thousands of Endpoints. */
      readonly upstreamOrigins: ReadonlySet<string>;
      readonly version: string;
      readonly values: ReadonlyMap<string, SecretValue>;
    }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly message: string };

/** Maximum numbers of days that a project's log entries are kept. */
export interface RetentionSettings {
  readonly retentionDaysMax: number;
  /** Undefined if only `retentionDaysMax` applies. */
  readonly retentionDaysMaxByPlan: Readonly<Record<Plan, number | undefined>>;
}

export interface TranslateSettings extends RetentionSettings {
  /** Base URL of the gateways, without a trailing slash. */
  readonly gatewayUrl: string;
  /** Returns why the address policy rejects an upstream, or undefined if it does not, or if the name must be resolved first. */
  readonly checkUpstream: (url: URL) => string | undefined;
  /** Applies to accounts without `monthlyQuota`. Undefined if unlimited. */
  readonly quotaByPlan: Readonly<Record<Plan, number | undefined>>;
  /** The maximum for each gateway. Undefined if unlimited. */
  readonly requestsPerSecondByPlan: Readonly<Record<Plan, number | undefined>>;
  /** The suffix of the DNS names of Services, such as `cluster.local`. */
  readonly clusterDomain: string;
}

/** The content of a condition. */
export interface Finding {
  readonly ok: boolean;
  readonly reason: ConditionReason;
  /** What is wrong and what to change, in at most `LIMITS.conditionMessageLengthMax` characters. */
  readonly message: string;
  /** The affected field, such as `spec.json.body`. */
  readonly path?: string;
  /** All problems of an object with mistakes, of which `message` may only contain the first. */
  readonly problems?: readonly Problem[];
  /** What is probably a mistake, although the object is valid. `message` also contains it. */
  readonly note?: Problem;
}

/** The result of the translation for one object. */
export interface Verdict {
  readonly ref: ConfigRef;
  readonly uid: string;
  /** The evaluated generation. */
  readonly generation: number;
  readonly accepted: Finding;
  readonly resolvedRefs: Finding;
  /** The key of the object that the gateways receive. Undefined if they receive nothing, or an Endpoint that is not accepted. */
  readonly configKey: ConfigKey | undefined;
  /** The derived fields of the object's status, without the conditions. A value of undefined removes the field. */
  readonly status: Readonly<Record<string, unknown>>;
  /** For Accounts, the Secret with the API key, and whether the operator generates the key. */
  readonly keySecret?: { readonly secretName: string; readonly generated: boolean };
  /** For Accounts, the plan. It limits the retention of their Projects. */
  readonly plan?: Plan;
  /** For Accounts, the number of requests that may be accepted in a calendar month. Undefined if unlimited. */
  readonly quota?: number | undefined;
  /**
   * For Accounts, and for Projects of an Account, whether Endpoints may have a credential. Undefined if there is no such Account or
   * its spec is invalid.
   */
  readonly allowsSignatures?: boolean | undefined;
  /** For Endpoints, the names of the Secrets to read. */
  readonly secretNames?: readonly string[];
}

/** The differences from the previous flush. */
export interface Changes {
  readonly put: readonly ConfigObject[];
  readonly remove: readonly ConfigKey[];
  /** The changed verdicts of objects that exist. */
  readonly verdicts: readonly Verdict[];
}

/** Verdict and configuration of one object. */
export interface Evaluation {
  readonly verdict: Verdict;
  readonly config: ConfigObject | undefined;
}

export type ParsedConfig = Extract<ParsedObject, { readonly kind: ConfigKind }>;

/** An object in the translator. */
export interface Entry extends Claimant {
  readonly ref: ConfigRef;
  readonly uid: string;
  readonly generation: number;
  readonly createdAtMs: number;
  /** Undefined if the spec cannot be parsed. */
  readonly parsed: ParsedConfig | undefined;
  /** The problem with the object itself, regardless of other objects. */
  readonly fault: Finding | undefined;
  readonly isBeyondLimit: boolean;
  /**
   * Whether this is an Endpoint with a fault that keeps its place: `parsed` has its path, method and Project. Gateways respond to its
   * requests with 503.
   */
  readonly keepsPlace: boolean;
  /** See `Claimant`. Set for an Endpoint that is not accepted, because of a fault or because its Account does not allow it. */
  yields: boolean;
  /** What the object claims (see `entryClaim`). Only a valid object and an Endpoint that keeps its place claim anything. */
  claim: string | undefined;
  /** `Reservations.isTaken` at the last evaluation. */
  isTaken: boolean;
  /** The arrangement of an Endpoint with a place whose slug has parameters. */
  readonly arrangement: { readonly group: string; readonly letters: string } | undefined;
  /** The result of the last flush. */
  evaluation: Evaluation | undefined;
}
