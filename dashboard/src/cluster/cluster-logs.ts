import { RESOURCES, SourceError } from '@standin/contract';
import { checkSettled } from '../check-settled.ts';
import type { EndpointUsage } from '@standin/logstore';
import type { Logs, ProjectIdentity } from '../backend.ts';
import { projectLog } from '../project-log.ts';
import type { AccessReviews } from './access-reviews.ts';
import type { ClusterUser } from './cluster-user.ts';
import type { LogReads } from './fair-reads.ts';
import type { Identities } from './identities.ts';
import type { OperatorClient } from './operator-client.ts';
import { getObject } from './read-objects.ts';

export interface LogsParts {
  readonly user: ClusterUser;
  readonly reviews: AccessReviews;
  readonly store: LogReads;
  readonly identities: Identities;
  /** Asks the operator in the user's turn. */
  readonly operator: Pick<OperatorClient, 'refusals' | 'settle'>;
}

/**
 * A subresource without objects, used as a separate permission. A user who may see a project is not necessarily allowed to see the
 * requests sent to it.
 */
const LOGS = `${RESOURCES.Project.plural}/logs`;

/** Gives access to the logs that the user may read. The API server decides, because ClickHouse has only one user, the dashboard. */
export const clusterLogs = ({ user, reviews, store, identities, operator }: LogsParts): Logs => {
  /**
   * Returns whether the user may read the project's log. Most users may read either all logs in a namespace or none, so the first
   * review usually covers many projects.
   */
  const mayRead = async ({ namespace, name }: ProjectIdentity): Promise<boolean> =>
    (await reviews.may(user, { verb: 'get', resource: LOGS, namespace })) ||
    reviews.may(user, { verb: 'get', resource: LOGS, namespace, name });
  /**
   * Returns whether an object still has this identity. Permissions refer to names, and an earlier object with the same name may
   * have had a different owner.
   */
  const isLive = async (kind: 'Account' | 'Project', { namespace, name, uid }: ProjectIdentity): Promise<boolean> => {
    const object = await getObject(user, { kind, namespace, name });
    return object !== undefined && (await identities.of(object)).uid === uid;
  };
  /** Rejects if the user may not read the project's log. */
  const checkAllowed = async (project: ProjectIdentity): Promise<void> => {
    if (await mayRead(project)) return;
    const { namespace, name } = project;
    throw new SourceError(
      'Forbidden',
      `you do not have permission to read the log of project ${namespace}/${name}: you need the verb "get" on ${LOGS} in namespace ${namespace}, for all projects or for resource name "${name}"`,
    );
  };
  /** Rejects if the user may not read the project's log, or if the project does not exist. */
  const checkReadable = async (project: ProjectIdentity): Promise<void> => {
    await checkAllowed(project);
    const { namespace, name } = project;
    if (!(await isLive('Project', project)))
      throw new SourceError('NotFound', `project ${namespace}/${name} with uid "${project.uid}" does not exist`);
  };
  return {
    requestsByHour: async (projects, hours) => {
      const allowed = await Promise.all(projects.map(mayRead));
      return store.requestsByHour(
        projects.filter((_, index) => allowed[index]),
        hours,
      );
    },
    open: async (project) => {
      await checkReadable(project);
      const log = projectLog(store, project, async () => checkSettled(await operator.settle(project)));
      return {
        ...log,
        // A stream or an export reads page after page, and can last longer than the user's token or permission.
        summaries: async (filter) => {
          await checkAllowed(project);
          return log.summaries(filter);
        },
      };
    },
    refusals: async (project) => {
      await checkReadable(project);
      const [isAdmin, { unknownProject, ...refusals }] = await Promise.all([
        reviews.may(user, { verb: 'get', resource: LOGS }),
        operator.refusals(project),
      ]);
      return isAdmin ? { ...refusals, unknownProject } : refusals;
    },
    usage: async (account, range) => {
      // `isLive` reads the Account with the user's token, so the user needs permission to get the Account.
      if (!(await isLive('Account', account))) {
        const { namespace, name, uid } = account;
        throw new SourceError('NotFound', `account ${namespace}/${name} with uid "${uid}" does not exist`);
      }
      const usage = await store.usage(account, range);
      const identityKey = ({ namespace, name, uid }: ProjectIdentity): string => `${namespace}/${name} ${uid}`;
      const usedProject = ({ namespace, project: name, projectUid: uid }: EndpointUsage): ProjectIdentity => ({
        namespace,
        name,
        uid,
      });
      const projects = new Map(usage.endpoints.map(usedProject).map((project) => [identityKey(project), project]));
      const visible = new Set<string>();
      const look = async (project: ProjectIdentity): Promise<void> => {
        if ((await mayRead(project)) && (await isLive('Project', project))) visible.add(identityKey(project));
      };
      await Promise.all([...projects.values()].map(look));
      return { ...usage, endpoints: usage.endpoints.filter((row) => visible.has(identityKey(usedProject(row)))) };
    },
  };
};
