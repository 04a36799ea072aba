import { keyFingerprint, periodOf } from '@standin/contract';
import { z } from 'zod';
import { shownUsage, type QuotaUsage } from '../quota/usage.ts';
import type { KnownKey, Translator, Verdict } from '../translate/index.ts';
import type { EndpointCounts } from './endpoint-counts.ts';

const accountBefore = z.looseObject({
  apiKey: z
    .looseObject({
      fingerprint: z.string().optional().catch(undefined),
      issuedAt: z.string().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});

const usageBefore = z.looseObject({
  usage: z
    .looseObject({
      period: z.string().optional().catch(undefined),
      accepted: z.number().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});

export interface StatusFieldsOptions {
  readonly translator: Pick<Translator, 'endpointsOf'>;
  readonly counts: Pick<EndpointCounts, 'isReady'>;
  readonly key: (accountUid: string) => KnownKey | undefined;
  readonly usage: (accountUid: string) => QuotaUsage | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** Status fields that depend on more than the object and its references: the key of an Account, the counts of a Project. */
export const statusFields =
  ({ translator, counts, key, usage }: StatusFieldsOptions) =>
  ({ ref: { kind }, uid, quota, status }: Verdict, before: Fields, now: string): Fields => {
    switch (kind) {
      case 'Account': {
        const present = quota === undefined ? undefined : { quota, period: periodOf(Date.parse(now)) };
        return {
          apiKey: apiKeyField(key(uid), before, now),
          usage: { ...usageBefore.parse(status).usage, ...usageField(usage(uid), before, present) },
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
  before: Fields,
  present: Pick<QuotaUsage, 'quota' | 'period'> | undefined,
): Fields => {
  if (present === undefined) return { period: undefined, accepted: undefined };
  const shown = shownUsage(usage, before, present);
  return shown === undefined ? {} : { period: shown.period, accepted: shown.accepted };
};

/** Shows the fingerprint, never the digest: a weak user-provided key could be guessed from its digest. */
const apiKeyField = (known: KnownKey | undefined, before: Fields, now: string): Fields | undefined => {
  const previous = accountBefore.parse(before).apiKey;
  if (known?.key.kind !== 'key') {
    // The record of regenerations stays.
    const none = { secretName: undefined, fingerprint: undefined, issuedAt: undefined };
    return previous?.['regenerations'] === undefined ? undefined : none;
  }
  const fingerprint = keyFingerprint(known.key.sha256);
  const issuedAt = previous?.fingerprint === fingerprint ? previous.issuedAt : undefined;
  return { secretName: known.secretName, fingerprint, issuedAt: issuedAt ?? now };
};

/** Whether two statuses of an Account refer to the same key. Other kinds have no key. */
export const isSameKey = (a: Fields, b: Fields): boolean =>
  accountBefore.parse(a).apiKey?.fingerprint === accountBefore.parse(b).apiKey?.fingerprint;
