import { SourceError, type ResourceObject } from '@standin/contract';
import { LogStoreError } from '@standin/logstore';
import type { Backend } from '../backend.ts';
import { accountUsage } from './account-usage.ts';
import { utcMonth, type UsageView } from './usage-view.ts';
import { accountSpec, accountStatus, projectSpec, effectiveRetentionDays } from '../resources/specs.ts';

export interface LoadedUsage {
  /** Undefined if the usage cannot be counted now. `refusal` has the reason. */
  readonly usage: UsageView | undefined;
  readonly refusal: string | undefined;
  readonly quota: number | undefined;
  /** This account's projects whose retention is shorter than the elapsed part of the month. Expired requests cannot be counted. */
  readonly forgetful: readonly { readonly project: string; readonly retentionDays: number }[];
}

export const loadUsage = async (backend: Backend, account: ResourceObject, now: Date): Promise<LoadedUsage> => {
  const quota = accountStatus(account).usage?.quota ?? accountSpec(account).monthlyQuota;
  const forgetful = await forgetfulProjects(backend, account, now);
  try {
    return { usage: await accountUsage(backend, account, now), refusal: undefined, quota, forgetful };
  } catch (error) {
    if (error instanceof SourceError) return { usage: undefined, refusal: error.message, quota, forgetful };
    if (!(error instanceof LogStoreError)) throw error;
    return {
      usage: undefined,
      refusal: 'Cannot read from ClickHouse. Reload the page in a few seconds.',
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
  const daysSoFar = Math.ceil((now.getTime() - utcMonth(now).from.getTime()) / DAY_MS);
  const projects = await resources.list('Project', metadata.namespace);
  return projects.flatMap((project) => {
    const { accountRef } = projectSpec(project);
    const retentionDays = effectiveRetentionDays(project);
    const isShort = retentionDays !== undefined && retentionDays < daysSoFar;
    return isShort && accountRef?.name === metadata.name ? [{ project: project.metadata.name, retentionDays }] : [];
  });
};
