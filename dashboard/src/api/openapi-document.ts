import { z } from 'zod';
import { API_PROBLEMS, type ApiProblemCode } from './problems.ts';
import type { ApiRoute, DocumentedAnswer } from './route.ts';
import { problemSchema } from './schemas.ts';
import { without } from './without.ts';

/** Problems that any route can return. */
const EVERYWHERE: readonly ApiProblemCode[] = [
  'parameter_invalid',
  'unauthorized',
  'forbidden',
  'resources_unavailable',
  'internal',
];
const WITH_BODY: readonly ApiProblemCode[] = [
  'body_invalid',
  'body_too_large',
  'media_type_unsupported',
  'too_many_bodies',
];

type JsonSchema = Readonly<Record<string, unknown>>;
const REFERENCE = '#/components/schemas/';

/**
 * A replacer for `JSON.stringify` that omits the `x-kubernetes-*` keys of resource schemas, which only a Kubernetes API server
 * understands.
 */
const withoutExtensions = (key: string, value: unknown): unknown =>
  key.startsWith('x-kubernetes-') ? undefined : value;

interface Inlined {
  readonly schema: JsonSchema;
  /** The referenced schemas, by name. */
  readonly components: Readonly<Record<string, JsonSchema>>;
}

/** Converts a zod schema to an inline schema with references to named ones. */
const inlined = (schema: z.ZodType): Inlined => {
  const json = z.toJSONSchema(schema, { io: 'input' });
  const { $defs = {}, ...inPlace } = JSON.parse(
    JSON.stringify(json, withoutExtensions).replaceAll('"#/$defs/', `"${REFERENCE}`),
  ) as JsonSchema & { readonly $defs?: Record<string, JsonSchema> };
  return {
    schema: without(inPlace, '$schema'),
    components: Object.fromEntries(Object.entries($defs).map(([id, part]) => [id, without(part, 'id')])),
  };
};

const describeParameters = (place: 'path' | 'query', schema: z.ZodObject): JsonSchema[] =>
  Object.entries(schema.shape as Readonly<Record<string, z.ZodType>>).map(([name, field]) => {
    const { description, ...json } = inlined(field).schema;
    const required = place === 'path' || !field.safeParse(undefined).success;
    return { name, in: place, required, ...(description !== undefined && { description }), schema: json };
  });

const describeResponse = ({ description, content = {} }: DocumentedAnswer): JsonSchema => ({
  description,
  content: Object.fromEntries(
    Object.entries(content).map(([type, schema]) => [type, { schema: inlined(schema).schema }]),
  ),
});

/** Groups problems by status, because several can share one. */
const problemResponses = (codes: readonly ApiProblemCode[]): Readonly<Record<string, JsonSchema>> => {
  const byStatus = Map.groupBy(new Set(codes), (code) => API_PROBLEMS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, those]) => [
      status,
      describeResponse({
        description: those.map((code) => `\`${code}\`: ${API_PROBLEMS[code].title}.`).join(' '),
        content: { 'application/problem+json': problemSchema },
      }),
    ]),
  );
};

const describeOperation = (route: ApiRoute): JsonSchema => {
  const { operationId, tag, summary, description, params, query, body, answers, problems } = route;
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    parameters: [...describeParameters('path', params), ...describeParameters('query', query)],
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: inlined(body).schema } } },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, describeResponse(answer)])),
      ...problemResponses([...EVERYWHERE, ...(body === undefined ? [] : WITH_BODY), ...problems]),
    },
  };
};

const usedSchemas = ({ answers, body }: ApiRoute): z.ZodType[] => [
  ...Object.values(answers).flatMap(({ content = {} }) => Object.values(content)),
  ...(body === undefined ? [] : [body]),
  problemSchema,
];

/** Generates the OpenAPI 3.1 document for the routes from the schemas that parse their input. */
export const openApiDocument = (routes: readonly ApiRoute[]): JsonSchema => {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Standin',
      version: 'v1',
      description:
        'Programmatic access to captured requests. See docs/reference/api.md for examples. Later versions only add fields.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    // The empty entry makes the token optional, because `standin dev` needs none without `--require-token`.
    security: [{ token: [] }, {}],
    paths: Object.fromEntries(
      [...byPath].map(([path, those]) => [
        path,
        Object.fromEntries(those.map((route) => [route.method.toLowerCase(), describeOperation(route)])),
      ]),
    ),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A bearer token for the Kubernetes cluster.' },
      },
      schemas: Object.fromEntries(
        routes.flatMap(usedSchemas).flatMap((schema) => Object.entries(inlined(schema).components)),
      ),
    },
  };
};
