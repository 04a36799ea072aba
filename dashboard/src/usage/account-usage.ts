import type { ResourceObject } from '@standin/contract';
import { DEFINITIONS } from '@standin/crds';
import type { Backend } from '../backend.ts';
import { monthOf, toUsageView, type UsageView } from './usage-view.ts';

/** An account's month so far. Rejects with `SourceError` (`Forbidden`) or `LogStoreError`. */
export const accountUsage = async (
  { logs }: Pick<Backend, 'logs'>,
  { metadata, spec, status }: ResourceObject,
  now: Date,
): Promise<UsageView> => {
  const { namespace, name, uid } = metadata;
  const counted = DEFINITIONS.Account.status.safeParse(status).data?.usage;
  const quota = counted?.quota ?? DEFINITIONS.Account.spec.safeParse(spec).data?.monthlyQuota;
  return toUsageView(await logs.usage({ namespace, name, uid }, monthOf(now)), { ...counted, quota }, now);
};
