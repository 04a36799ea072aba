import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { LogEntry } from '@standin/exchange';
import { request } from 'undici';
import { z } from 'zod';
import { eventually } from '../harness/eventually.ts';
import { startDashboard, type DashboardRun } from './dashboard-stand.ts';
import { call, endpoint, forward, mock, newFolders, readLog } from './dev-stand.ts';

export interface ApiRun extends DashboardRun {
  /** `http://localhost:41234/api/v1` */
  readonly api: string;
  /** The URL of the quickstart's project in this API. */
  readonly shop: string;
}

/**
 * Starts `standin dev` with its dashboard and an additional project `other`. Sends four requests to the project `shop`, then one to
 * `other`, and waits until the log contains them.
 */
export const startApi = async (): Promise<ApiRun> => {
  const folders = await newFolders();
  const write = (name: string, text: string): Promise<void> => writeFile(path.join(folders.manifests, name), text);
  await write('down.json', endpoint('down', forward('http://localhost:1/')));
  const metadata = { name: 'other' };
  const spec = { displayName: 'Other', accountRef: { name: 'default' } };
  await write('other.json', JSON.stringify({ apiVersion: 'standin.dev/v1alpha1', kind: 'Project', metadata, spec }));
  await write('elsewhere.json', endpoint('elsewhere', { ...mock('{}'), projectRef: { name: 'other' } }));
  const dev = await startDashboard({ folders });
  await call(dev, '/v1/orders', { body: '{"total": 10.0}' });
  await call(dev, '/v1/orders', { method: 'GET' });
  await call(dev, '/v1/orders/1001', { method: 'DELETE' });
  await call(dev, '/down');
  const other = dev.ready.projects.find(({ name }) => name === 'other')?.url ?? '';
  await call({ ...dev, url: other }, '/elsewhere');
  await eventually('five entries', () => readLog(dev.data), { accept: ({ length }) => length === 5 });
  const api = `${dev.dashboard}/api/v1`;
  return { ...dev, api, shop: `${api}/namespaces/default/projects/shop` };
};

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly json: unknown;
}

interface AskOptions {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export const ask = async (url: string, { method = 'GET', headers = {}, body }: AskOptions = {}): Promise<ApiAnswer> => {
  const answer = await request(url, { method, headers, ...(body !== undefined && { body }) });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  return { status: answer.statusCode, headers: answer.headers, bytes, json: parseJson(bytes.toString('utf8')) };
};

/** Returns the items of a list. With `view=summary`, the entries lack some fields of LogEntry. */
export const listedRequests = ({ json }: Pick<ApiAnswer, 'json'>): readonly LogEntry[] =>
  (json as { readonly items: readonly LogEntry[] }).items;

const documentSchema = z.looseObject({
  openapi: z.string(),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        operationId: z.string(),
        responses: z.record(
          z.string(),
          z.looseObject({ content: z.record(z.string(), z.looseObject({ schema: z.unknown() })) }),
        ),
      }),
    ),
  ),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});
export type OpenApi = z.output<typeof documentSchema>;

export const readDocument = async (api: string): Promise<OpenApi> =>
  documentSchema.parse((await ask(`${api}/openapi.json`)).json);

/** Returns how a response violates the OpenAPI document's schema for the operation and the response's status. */
export const violations = (document: OpenApi, operationId: string, { status, headers, json }: ApiAnswer): string[] => {
  const operation = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .find((candidate) => candidate.operationId === operationId);
  const [mediaType = ''] = String(headers['content-type']).split(';');
  const schema = operation?.responses[String(status)]?.content[mediaType]?.schema;
  if (schema === undefined) return [`${operationId} documents no ${status} of ${mediaType}`];
  const withDefinitions = { ...(schema as object), $defs: document.components.schemas };
  const text = JSON.stringify(withDefinitions).replaceAll('#/components/schemas/', '#/$defs/');
  const result = z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0]).safeParse(json);
  return result.success ? [] : result.error.issues.map(({ path: at, message }) => `${at.join('.')}: ${message}`);
};
