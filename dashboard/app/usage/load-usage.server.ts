import { SourceError, type ResourceObject } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import type { Backend } from '../../src/backend.ts';
import { orFail } from '../lib/failures.server.ts';
import { accountSpec, accountStatus, projectSpec } from '../lib/resources.server.ts';
import { monthOf, toUsageView, type UsageView } from './usage-view.ts';

export interface LoadedUsage {
  /** `undefined`: it cannot be counted now, and `refusal` says why. */
  readonly usage: UsageView | undefined;
  readonly refusal: string | undefined;
  readonly quota: number | undefined;
  /** Projects of the account that keep requests for less than this month lasts: what is gone cannot be counted. */
  readonly forgetful: readonly { readonly project: string; readonly retentionDays: number }[];
}

export const loadUsage = async (backend: Backend, account: ResourceObject, now: Date): Promise<LoadedUsage> => {
  const status = accountStatus(account).usage;
  const quota = status?.quota ?? accountSpec(account).monthlyQuota;
  const forgetful = await forgetfulProjects(backend, account, now);
  const { namespace, name, uid } = account.metadata;
  try {
    const counted = await backend.logs.usage({ namespace, name, uid }, monthOf(now));
    return { usage: toUsageView(counted, { ...status, quota }, now), refusal: undefined, quota, forgetful };
  } catch (error) {
    if (error instanceof SourceError) return { usage: undefined, refusal: error.message, quota, forgetful };
    if (!(error instanceof LogStoreError)) throw error;
    return {
      usage: undefined,
      refusal: 'ClickHouse cannot be asked now. Load the page again in a moment.',
      quota,
      forgetful,
    };
  }
};

const DAY_MS = 24 * 3_600_000;

const forgetfulProjects = async (
  { resources }: Backend,
  { metadata }: ResourceObject,
  now: Date,
): Promise<LoadedUsage['forgetful']> => {
  const daysSoFar = Math.ceil((now.getTime() - monthOf(now).from.getTime()) / DAY_MS);
  const projects = await orFail(resources.list('Project', metadata.namespace));
  return projects.flatMap((project) => {
    const { accountRef, retentionDays } = projectSpec(project);
    const isShort = retentionDays !== undefined && retentionDays < daysSoFar;
    return isShort && accountRef?.name === metadata.name ? [{ project: project.metadata.name, retentionDays }] : [];
  });
};
