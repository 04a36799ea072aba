import {
  countSchema,
  replayedExchangeSchema,
  replayResultListSchema,
  replaySchema,
  summarySchema,
} from '@standin/dashboard/api-schemas';
import type { ReplaySpec, ReplayStatus } from '@standin/crds';
import type { LogEntry } from '@standin/exchange';
import { formatFilter, type Filter } from '@standin/exchange/search';
import type { ReplaySummary } from '@standin/logstore';
import { z } from 'zod';
import type { LineEntry } from '../logs/format-entry.ts';
import { apiPath, orUndefined, type ApiClient } from '../server/api-client.ts';
import { findRequest, projectPath, withProjectNames } from '../server/projects.ts';

export interface ReplayRef {
  readonly namespace: string;
  readonly name: string;
}

/** The requests that match a filter, before anything is sent. */
export interface FilterPlan {
  readonly count: number;
  /** The oldest matching requests, at most five. */
  readonly first: readonly LineEntry[];
}

interface FoundFilter {
  readonly search: Filter | undefined;
  /** In RFC 3339. */
  readonly from: string;
  readonly to: string;
}

const FIRST = 5;
const summaryListSchema = z.object({ items: z.array(summarySchema) });

/** Reads the log and creates Replays through the JSON API. */
export const replayClient = (api: ApiClient) => ({
  /** Resolves with a captured request, or with undefined if no visible project has it. */
  request: (id: string): Promise<LogEntry | undefined> => findRequest(api, id),
  plan: async (project: ReplayRef, { search, from, to }: FoundFilter): Promise<FilterPlan> => {
    const path = `${projectPath(project.namespace, project.name)}/requests`;
    const q = search && formatFilter(search);
    const filter = { q, from, to };
    const counting = api.ask({ path: `${path}:count`, query: { ...filter, settled: 'false' } }, countSchema);
    const { count } = await withProjectNames(api, { namespace: project.namespace, project: project.name }, counting);
    const query = { ...filter, order: 'oldest-first', limit: FIRST, view: 'summary' };
    return { count, first: (await api.ask({ path, query }, summaryListSchema)).items };
  },
  /** Returns the Replay's API path, which the functions below take. */
  path: ({ namespace, name }: ReplayRef, { projectRef }: ReplaySpec): string =>
    `${projectPath(namespace, projectRef.name)}/replays${apiPath(name)}`,
  /** Rejects with a `ServerError`, whose status is 409 if there is a Replay of this name. */
  create: ({ namespace, name }: ReplayRef, { projectRef, ...spec }: ReplaySpec) => {
    const path = `${projectPath(namespace, projectRef.name)}/replays`;
    return api.ask({ method: 'POST', path, body: { name, spec } }, replaySchema);
  },
  setState: async (path: string, state: ReplaySpec['state']): Promise<void> => {
    await api.ask({ method: 'PATCH', path, body: { state } }, replaySchema);
  },
  /** Resolves with the status, which is empty until the operator has written one, or with undefined if there is no such Replay. */
  status: async (path: string): Promise<ReplayStatus | undefined> =>
    (await orUndefined(api.ask({ path }, replaySchema)))?.status,
  replayed: (path: string, requestId: string) =>
    orUndefined(api.ask({ path: `${path}/results${apiPath(requestId)}` }, replayedExchangeSchema)),
  /** Resolves with at most `limit` requests that got no response. */
  failures: async (path: string, limit: number): Promise<readonly ReplaySummary[]> =>
    (await api.ask({ path: `${path}/results`, query: { status: 0, limit } }, replayResultListSchema)).items,
});

export type ReplayClient = ReturnType<typeof replayClient>;
