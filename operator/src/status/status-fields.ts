import { keyFingerprint, periodOf } from '@standin/contract';
import { readStatus } from '@standin/crds';
import { shownUsage, type QuotaUsage } from '../quota/usage.ts';
import type { KnownKey, Translator, Verdict } from '../translate/index.ts';
import type { StatusFields } from './status-writer.ts';

export interface StatusFieldsOptions {
  readonly translator: Pick<Translator, 'endpointsOf'>;
  readonly counts: Pick<EndpointCounts, 'isReady'>;
  readonly key: (accountUid: string) => KnownKey | undefined;
  readonly usage: (accountUid: string) => QuotaUsage | undefined;
}

/** The status fields that depend on more than the object and its references: an Account's key and a Project's counts. */
export const statusFields =
  ({ translator, counts, key, usage }: StatusFieldsOptions) =>
  ({ ref: { kind }, uid, quota, status }: Verdict, before: StatusFields, now: string): StatusFields => {
    switch (kind) {
      case 'Account': {
        const present = quota === undefined ? undefined : { quota, period: periodOf(Date.parse(now)) };
        return {
          apiKey: apiKeyField(key(uid), before, now),
          usage: { ...readStatus('Account', status).usage, ...usageField(usage(uid), before, present) },
        };
      }
      case 'Project': {
        const endpoints = [...translator.endpointsOf(uid)];
        const ready = endpoints.filter((endpoint) => counts.isReady(endpoint)).length;
        return { endpoints: { total: endpoints.length, ready } };
      }
      case 'Endpoint':
        return {};
    }
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

/** Shows the fingerprint, never the digest: a weak user-provided key could be guessed from its digest. */
const apiKeyField = (known: KnownKey | undefined, before: StatusFields, now: string): StatusFields | undefined => {
  const previous = readStatus('Account', before).apiKey;
  if (known?.key.kind !== 'key') {
    // The record of regenerations is kept.
    const none = { secretName: undefined, fingerprint: undefined, issuedAt: undefined };
    return previous?.regenerations === undefined ? undefined : none;
  }
  const fingerprint = keyFingerprint(known.key.sha256);
  const issuedAt = previous?.fingerprint === fingerprint ? previous.issuedAt : undefined;
  return { secretName: known.secretName, fingerprint, issuedAt: issuedAt ?? now };
};

/** Returns whether two statuses of an Account refer to the same key. Other kinds have no key. */
export const isSameKey = (a: StatusFields, b: StatusFields): boolean =>
  readStatus('Account', a).apiKey?.fingerprint === readStatus('Account', b).apiKey?.fingerprint;

interface Counted {
  readonly project: string | undefined;
  readonly ready: boolean;
}

/** Which endpoints are Ready, and their projects. The counts in a Project's status are derived from this. */
export class EndpointCounts {
  readonly #endpoints = new Map<string, Counted>();

  isReady(endpoint: string): boolean {
    return this.#endpoints.get(endpoint)?.ready ?? false;
  }

  /** Records an endpoint. Returns the projects whose counts change. All arguments are uids. */
  set(endpoint: string, now: Counted): readonly string[] {
    const before = this.#endpoints.get(endpoint);
    if (before?.project === now.project && before?.ready === now.ready) return [];
    this.#endpoints.set(endpoint, now);
    return projectsOf(before, now);
  }

  delete(endpoint: string): readonly string[] {
    const before = this.#endpoints.get(endpoint);
    this.#endpoints.delete(endpoint);
    return projectsOf(before);
  }
}

const projectsOf = (...counted: readonly (Counted | undefined)[]): readonly string[] => [
  ...new Set(counted.flatMap((one) => one?.project ?? [])),
];
