import type { EngineAddress } from '@standin/engine';
import { openLogStore } from '@standin/logstore';
import { createdShareSchema } from '@standin/dashboard/api-schemas';
import { PlainError } from '../plain-error.ts';
import { openServer, type ApiClient } from '../server/api-client.ts';
import { chooseProject, projectPath, type ProjectChoice } from '../server/choose-project.ts';
import { openRunning } from '../server/open-running.ts';
import type { ServerOptions } from '../server/server-options.ts';
import type { ShareClient } from './share-client.ts';

export interface OpenSharesOptions extends ServerOptions, ProjectChoice {
  /** The data folder of a `standin dev`, used without `--server`. */
  readonly data: string;
}

/** Finds the project of a request, as its API path. */
type FindProject = (requestId: string) => Promise<string>;

const clientOf = (api: ApiClient, base: string, findProject: FindProject): ShareClient => ({
  create: async ({ id: requestId, expiresIn }) => {
    const project = await findProject(requestId);
    const body = { requestId, expiresIn };
    const { path: link, ...made } = await api.ask(
      { method: 'POST', path: `${project}/shares`, body },
      createdShareSchema,
    );
    return { ...made, url: new URL(link, base).href };
  },
});

/** The links of the dashboard that `--server` names, or of the `standin dev` that runs on the data folder. */
export const openShares = async (options: OpenSharesOptions): Promise<ShareClient> => {
  const { server, data } = options;
  const api = openServer(options);
  if (api !== undefined && server !== undefined) return clientOf(api, server, () => chooseProject(api, options));
  const { api: local, dashboard, clickhouse } = await openRunning(data, 'shows links');
  return clientOf(local, dashboard, (requestId) => findLocally(clickhouse, requestId));
};

/** Finds the project of a request in the log, among all projects. */
const findLocally = async (clickhouse: EngineAddress, requestId: string): Promise<string> => {
  const store = openLogStore({ ...clickhouse, database: 'standin' });
  try {
    const entry = await store.get(requestId);
    if (entry === undefined) throw new PlainError(`the log has no request ${requestId}`);
    return projectPath(entry.namespace, entry.project);
  } finally {
    await store.close();
  }
};
