import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Api, StandinError } from './api.ts';
import { createProject, Project, type CreatedProject, type NewProject } from './project.ts';
import { environment } from './settings.ts';

export interface ConnectOptions {
  /** The address of the dashboard. Default: the environment variable STANDIN_URL, or the `standin dev` that is running. */
  readonly url?: string;
  /** Default: the environment variable STANDIN_TOKEN, or the token of the `standin dev` that is running. */
  readonly token?: string;
  /** The data folder of `standin dev`. Default: `.standin` in the working directory, or in the nearest parent that has one. */
  readonly data?: string;
}

/** A running Standin. */
export interface Standin {
  /** Returns a project that exists. Sends nothing. */
  project(namespace: string, name: string): Project;
  /** Creates a project for a test file. Resolves when its endpoints respond. */
  createProject(project: NewProject): Promise<CreatedProject>;
}

/** Connects to `standin dev`, or to a dashboard. Rejects with a `StandinError` if it finds neither. */
export const connect = async (options: ConnectOptions = {}): Promise<Standin> => {
  const { url, token } = await findServer(options);
  const api = new Api(url, token);
  return {
    project: (namespace, name) => new Project(api, namespace, name),
    createProject: (project) => createProject(api, project),
  };
};

interface Server {
  readonly url: string;
  readonly token: string | undefined;
}

const findServer = async ({ url, token, data }: ConnectOptions): Promise<Server> => {
  const given = environment();
  const address = url ?? (data === undefined ? given.url : undefined);
  if (address !== undefined) return { url: address, token: token ?? given.token };
  const folder = data ?? '.standin';
  for (let parent = path.resolve('.'); ; parent = path.dirname(parent)) {
    const running = await readRunning(path.resolve(parent, folder, 'running.json'));
    if (running !== undefined) return { ...running, token: token ?? running.token };
    if (parent === path.dirname(parent)) break;
  }
  throw new StandinError(
    `no standin dev is running for the folder ${folder}. Start it, or set STANDIN_URL to the address of a dashboard.`,
  );
};

const readRunning = async (file: string): Promise<Server | undefined> => {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { api } = JSON.parse(text) as { readonly api?: { readonly url: string; readonly token?: string } };
  return api && { url: api.url, token: api.token };
};
