import { REJECTIONS, type RefusalCount, type Rejection } from '@standin/contract';
import type { Backend, ReadRefusals } from '../backend.ts';
import { getProject } from '../projects/projects.ts';
import type { ProjectName } from '../resources/names.ts';

/** Equal requests that were refused, with the words of the problem document that their senders got. */
export interface RefusedRequest extends Omit<RefusalCount, 'lastAt'> {
  /** The status of the responses. Undefined for a code that only a newer gateway knows. */
  readonly status?: number;
  readonly title: string;
  /** What the sender should do. */
  readonly detail: string;
  readonly lastAt: string;
}

export interface RefusedRequests extends Omit<ReadRefusals, 'counts'> {
  readonly items: readonly RefusedRequest[];
}

const rejectionOf = (code: string): Pick<Rejection, 'title' | 'detail'> & { readonly status?: number } => {
  const known = Object.entries<Rejection>(REJECTIONS).find(([name]) => name === code)?.[1];
  if (known === undefined)
    return { title: code, detail: 'Update the dashboard to a newer version to see the details.' };
  const { status, title, detail } = known;
  return { status, title, detail };
};

/**
 * Returns the requests to a project that gateways refused within the last hour. Rejects with `SourceError`, as opening the log does,
 * and with `Unavailable` if the operator cannot be asked.
 */
export const refusedRequests = async (
  { resources, logs }: Pick<Backend, 'resources' | 'logs'>,
  project: ProjectName,
): Promise<RefusedRequests> => {
  const { namespace, name, uid } = (await getProject({ resources }, project)).metadata;
  const { counts, ...rest } = await logs.refusals({ namespace, name, uid });
  const items = counts.map(({ lastAt, ...count }) => ({
    ...count,
    ...rejectionOf(count.code),
    lastAt: new Date(lastAt).toISOString(),
  }));
  return { ...rest, items };
};

/** The number of refused requests to the project. */
export const refusedCount = ({ items, omitted }: RefusedRequests): number =>
  items.reduce((total, { count }) => total + count, omitted);
