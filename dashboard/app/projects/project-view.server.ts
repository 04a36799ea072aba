import type { ResourceObject } from '@standin/contract';
import type { HourlyCounts } from '@standin/logstore';
import type { Backend } from '../../src/backend.ts';
import { inTime } from '../../src/log-timeout.ts';
import type { ProjectAddress } from '../../src/projects/projects.ts';
import { managingTool, type Owner } from '../../src/resources/ownership.ts';
import {
  accountSpec,
  accountStatus,
  projectSpec,
  projectStatus,
  effectiveRetentionDays,
} from '../../src/resources/specs.ts';
import { readiness, type Readiness } from '../../src/resources/resource-view.ts';

/** A project as shown on pages. */
export interface ProjectView {
  readonly namespace: string;
  readonly project: string;
  readonly title: string;
  readonly address: ProjectAddress | undefined;
  readonly readiness: Readiness;
  readonly endpoints: { readonly ready: number; readonly total: number };
  readonly account: string;
  readonly plan: string | undefined;
  /** Maximum number of accepted requests per month. Undefined if there is no limit or the account was not found. */
  readonly quota: number | undefined;
  readonly retentionDays: number | undefined;
  readonly owner: Owner | undefined;
  /** Requests per hour in the last 24 hours, oldest first. Undefined if the log is unavailable or the user may not read it. */
  readonly requests: HourlyCounts | undefined;
}

const HOURS_SHOWN = 24;

interface ProjectSurroundings extends Pick<ProjectView, 'address' | 'requests'> {
  /** By `NAMESPACE/NAME`. */
  readonly accounts: ReadonlyMap<string, ResourceObject>;
}

export const toProjectView = (
  object: ResourceObject,
  { accounts, address, requests }: ProjectSurroundings,
): ProjectView => {
  const { namespace, name } = object.metadata;
  const { displayName = name, accountRef } = projectSpec(object);
  const { endpoints } = projectStatus(object);
  const account = accounts.get(`${namespace}/${accountRef?.name ?? ''}`);
  return {
    namespace,
    project: name,
    title: displayName,
    address,
    readiness: readiness(object),
    endpoints: { ready: endpoints?.ready ?? 0, total: endpoints?.total ?? 0 },
    account: accountRef?.name ?? '',
    plan: account && accountSpec(account).plan,
    quota: account && (accountStatus(account).usage?.quota ?? accountSpec(account).monthlyQuota),
    retentionDays: effectiveRetentionDays(object),
    owner: managingTool(object),
    requests,
  };
};

/** The maximum time for which the page waits for the log. If the log takes longer, the page is shown without request counts. */
const LOG_MS_MAX = 1_500;

export const countRequests = async (
  { resources, logs }: Backend,
  projects: readonly ResourceObject[],
): Promise<ReadonlyMap<string, HourlyCounts> | undefined> => {
  const read = async (): Promise<ReadonlyMap<string, HourlyCounts>> => {
    // The counts of a project without a confirmed identity are left out.
    const found = await Promise.all(
      projects.map(async (project) => ({
        uid: project.metadata.uid,
        identity: await resources.findIdentity(project).catch(() => undefined),
      })),
    );
    const counts = await logs.requestsByHour(
      found.flatMap(({ identity }) => identity ?? []),
      HOURS_SHOWN,
    );
    return new Map(
      found.flatMap(({ uid, identity }) => {
        const ofProject = identity && counts.get(identity.uid);
        return ofProject === undefined ? [] : [[uid, ofProject] as const];
      }),
    );
  };
  return inTime(read(), LOG_MS_MAX).catch(() => undefined);
};
