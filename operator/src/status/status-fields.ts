import { isDeepStrictEqual } from 'node:util';
import { keyFingerprint, periodAt } from '@standin/contract';
import { readStatus } from '@standin/crds';
import type { LogOwner } from '@standin/logstore';
import { shownUsage, type QuotaUsage } from '../quota/usage.ts';
import type { KnownKey, Translator, Verdict } from '../translate/index.ts';
import type { StatusFields } from './status-writer.ts';

export interface StatusFieldsOptions {
  readonly translator: Pick<Translator, 'childUids'>;
  readonly counts: Pick<ReadyCounts, 'isReady'>;
  readonly key: (accountUid: string) => KnownKey | undefined;
  readonly usage: (accountUid: string) => QuotaUsage | undefined;
  /** Returns when the project received its last request, or undefined if the time is unknown or there was no request. */
  readonly lastRequestAt: (project: LogOwner) => string | undefined;
}

/**
 * Computes the status fields that depend on more than the object and its references: the key and the usage of an Account, the last
 * request of a Project, and the counts of both.
 */
export const statusFields =
  ({ translator, counts, key, usage, lastRequestAt }: StatusFieldsOptions) =>
  (
    { ref: { kind, namespace, name }, uid, quota, status }: Verdict,
    before: StatusFields,
    now: string,
  ): StatusFields => {
    switch (kind) {
      case 'Account': {
        const present = quota === undefined ? undefined : { quota, period: periodAt(Date.parse(now)) };
        return {
          projects: [...translator.childUids(uid)].length,
          apiKey: apiKeyField(key(uid), before, now),
          usage: { ...readStatus('Account', status).usage, ...usageField(usage(uid), before, present) },
        };
      }
      case 'Project': {
        const endpoints = [...translator.childUids(uid)];
        const ready = endpoints.filter((endpoint) => counts.isReady(endpoint)).length;
        return {
          endpoints: { total: endpoints.length, ready },
          ...lastRequestField(lastRequestAt({ uid, namespace, name }), before),
        };
      }
      case 'Endpoint':
        return {};
    }
  };

/**
 * A later request is shown only if it is at least this much later than the one that is shown, so that a busy project does not cause
 * constant writes.
 */
export const LAST_REQUEST_RESOLUTION_MS = 600_000;

const lastRequestField = (at: string | undefined, before: StatusFields): StatusFields => {
  const shown = readStatus('Project', before).lastRequestAt;
  const isKept =
    at === undefined || (shown !== undefined && Date.parse(at) - Date.parse(shown) < LAST_REQUEST_RESOLUTION_MS);
  return isKept ? {} : { lastRequestAt: at };
};

const usageField = (
  usage: QuotaUsage | undefined,
  before: StatusFields,
  present: Pick<QuotaUsage, 'quota' | 'period'> | undefined,
): StatusFields => {
  if (present === undefined) return { period: undefined, accepted: undefined };
  const shown = shownUsage(usage, before, present);
  return shown === undefined ? {} : { period: shown.period, accepted: shown.accepted };
};

/**
 * Returns the field `apiKey`. It contains the key's fingerprint, never its digest, because a weak user-provided key could be
 * guessed from its digest.
 */
const apiKeyField = (known: KnownKey | undefined, before: StatusFields, now: string): StatusFields | undefined => {
  const previous = readStatus('Account', before).apiKey;
  if (known?.key.kind !== 'key') {
    // Removes only these fields. The record of regenerations is kept.
    const none = { secretName: undefined, fingerprint: undefined, issuedAt: undefined };
    return previous?.regenerations === undefined ? undefined : none;
  }
  const fingerprint = keyFingerprint(known.key.sha256);
  const issuedAt = previous?.fingerprint === fingerprint ? previous.issuedAt : undefined;
  return { secretName: known.secretName, fingerprint, issuedAt: issuedAt ?? now };
};

/** Returns whether two statuses refer to the same key, for an Account, or to the same secrets, for an Endpoint. */
export const isSameKey = (a: StatusFields, b: StatusFields): boolean =>
  readStatus('Account', a).apiKey?.fingerprint === readStatus('Account', b).apiKey?.fingerprint &&
  isDeepStrictEqual(keptSecrets(a), keptSecrets(b));

/** Returns the secrets in the status of an Endpoint, which stay there until all gateways have acknowledged a change. */
export const keptSecrets = (before: StatusFields): StatusFields => {
  const { signingSecrets, upstreamSecrets } = readStatus('Endpoint', before);
  return {
    ...(signingSecrets !== undefined && { signingSecrets }),
    ...(upstreamSecrets !== undefined && { upstreamSecrets }),
  };
};

interface Counted {
  readonly parent: string | undefined;
  readonly ready: boolean;
}

/** The readiness and the parents of Projects and Endpoints. The counts in the parents' statuses are derived from these facts. */
export class ReadyCounts {
  readonly #children = new Map<string, Counted>();

  isReady(child: string): boolean {
    return this.#children.get(child)?.ready ?? false;
  }

  /** Records a child. Returns the parents whose counts change. All arguments are uids. */
  set(child: string, now: Counted): readonly string[] {
    const before = this.#children.get(child);
    if (before?.parent === now.parent && before?.ready === now.ready) return [];
    this.#children.set(child, now);
    return distinctParents(before, now);
  }

  delete(child: string): readonly string[] {
    const before = this.#children.get(child);
    this.#children.delete(child);
    return distinctParents(before);
  }
}

const distinctParents = (...counted: readonly (Counted | undefined)[]): readonly string[] => [
  ...new Set(counted.flatMap((one) => one?.parent ?? [])),
];
