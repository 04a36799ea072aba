import { API_GROUP, API_VERSION, KINDS, ownMember, type Kind } from '@standin/contract';
import { customResourceDefinition, DEFINITIONS } from '@standin/crds';
import type { KubeClient } from '@standin/kube';
import type { Logger } from 'pino';
import { z } from 'zod';

/** The parts of an OpenAPI schema that are needed to compare fields. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly items?: Schema | undefined;
}

const schema: z.ZodType<Schema> = z.lazy(() =>
  z.looseObject({ properties: z.record(z.string(), schema).optional(), items: schema.optional() }),
);
const documentSchema = z.looseObject({
  components: z.looseObject({
    schemas: z.record(
      z.string(),
      z.looseObject({
        'x-kubernetes-group-version-kind': z.array(z.looseObject({ group: z.string(), kind: z.string() })).optional(),
      }),
    ),
  }),
});

/**
 * Returns the paths of the fields that `own` has and `installed` does not. If a field is missing, its nested fields are not listed.
 */
const missingIn = (own: Schema, installed: Schema | undefined, path: string): string[] => {
  if (installed === undefined) return [path];
  const { properties = {}, items } = own;
  return [
    ...Object.entries(properties).flatMap(([name, field]) =>
      missingIn(field, ownMember(installed.properties ?? {}, name), path === '' ? name : `${path}.${name}`),
    ),
    ...(items === undefined ? [] : missingIn(items, installed.items, `${path}[]`)),
  ];
};

const ownSchema = (kind: Kind): Schema => {
  const { spec, status } = schema.parse(
    customResourceDefinition(DEFINITIONS[kind]).spec.versions[0]?.schema.openAPIV3Schema,
  ).properties ?? { spec: {}, status: {} };
  return { properties: { ...(spec && { spec }), ...(status && { status }) } };
};

/**
 * Resolves with the paths of the fields that this operator knows and that the installed CRDs lack, by kind. A missing CRD has the
 * single entry `all`. The API server drops unknown fields on every write. Reads the OpenAPI document, which every authenticated
 * client can read, so access to CRDs is not required. Rejects if the document cannot be read, including when no Standin CRD is
 * installed.
 */
export const missingFields = async (client: KubeClient): Promise<ReadonlyMap<Kind, readonly string[]>> => {
  const { components } = documentSchema.parse(await client.get(`/openapi/v3/apis/${API_GROUP}/${API_VERSION}`));
  const installed = new Map(
    Object.values(components.schemas).flatMap((found) =>
      (found['x-kubernetes-group-version-kind'] ?? [])
        .filter(({ group }) => group === API_GROUP)
        .map(({ kind }) => [kind, schema.parse(found)] as const),
    ),
  );
  const missing = KINDS.map((kind) => {
    const found = installed.get(kind);
    return [kind, found === undefined ? ['all'] : missingIn(ownSchema(kind), found, '')] as const;
  });
  return new Map(missing.filter(([, fields]) => fields.length > 0));
};

/** Logs what to do if the cluster's CRDs are older than this operator. Called at startup. */
export const checkCrds = async (client: KubeClient, logger: Logger): Promise<void> => {
  try {
    for (const [kind, fields] of await missingFields(client)) {
      logger.warn(
        { kind, fields },
        'the CRD is older than this operator, and the API server drops these fields: apply crds/manifests, or upgrade the chart that installs the CRDs',
      );
    }
  } catch (error) {
    // This is not logged as an error, because the sources also report problems with the API server, and retry.
    logger.info({ err: error }, 'cannot compare the CRDs with this operator');
  }
};
