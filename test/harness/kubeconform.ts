import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buildGoProgram } from '../cluster/go-program.ts';
import { runCommand, type CommandResult } from '../cluster/run-command.ts';
import type { Cluster } from './cluster.ts';
import { asList, type RenderedObject } from './helm.ts';

interface Schema {
  readonly properties?: object;
  readonly additionalProperties?: unknown;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/**
 * Writes the JSON schemas of these API versions (such as `apps/v1`) to `directory`, with the file names that kubeconform expects.
 * The API server publishes the schemas for its own kinds and for those of CRDs. Fields that a schema does not contain are errors.
 */
export const writeSchemas = async (
  cluster: Cluster,
  apiVersions: readonly string[],
  directory: string,
): Promise<void> => {
  await mkdir(directory, { recursive: true });
  for (const apiVersion of apiVersions) {
    const { code, stdout, stderr } = await cluster.kubectl([
      'get',
      '--raw',
      `/openapi/v3/${apiVersionPath(apiVersion)}`,
    ]);
    if (code !== 0) throw new Error(`no schemas for ${apiVersion}: ${stderr}`);
    const { components } = JSON.parse(stdout, (_name, value: unknown) => closed(value)) as OpenApi;
    for (const [name, schema] of Object.entries(components.schemas)) {
      const kinds = schema['x-kubernetes-group-version-kind'] ?? [];
      for (const { kind, ...groupVersion } of kinds.filter((known) => apiVersionText(known) === apiVersion)) {
        const document = { $ref: `#/components/schemas/${name}`, components };
        await writeFile(path.join(directory, schemaFile(kind, groupVersion)), JSON.stringify(document));
      }
    }
  }
};

/** Runs kubeconform, which rejects fields and kinds that the schemas do not contain. A failure is a `code` other than 0. */
export const kubeconform = async (objects: readonly RenderedObject[], directory: string): Promise<CommandResult> => {
  const location = path.join(directory, '{{.ResourceKind}}{{.KindSuffix}}.json');
  const args = ['-strict', '-summary', '-output', 'json', '-schema-location', location, '-'];
  return runCommand(await buildGoProgram('kubeconform', console.log), args, { input: asList(objects) });
};

const apiVersionPath = (apiVersion: string): string =>
  apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
const apiVersionText = ({ group, version }: Omit<GroupVersionKind, 'kind'>): string =>
  group === '' ? version : `${group}/${version}`;
/** Returns a file name such as `deployment-apps-v1.json`, which contains only the first label of the group. */
const schemaFile = (kind: string, { group, version }: Omit<GroupVersionKind, 'kind'>): string =>
  `${[kind.toLowerCase(), ...(group === '' ? [] : [group.split('.')[0]]), version].join('-')}.json`;

const closed = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const schema = value as Schema;
  const isOpen =
    typeof schema.properties !== 'object' ||
    schema.additionalProperties !== undefined ||
    schema['x-kubernetes-preserve-unknown-fields'] === true;
  return isOpen ? schema : { ...schema, additionalProperties: false };
};
