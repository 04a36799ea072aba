import { z } from 'zod';
import type { Backend } from '../backend.ts';
import { jsonStream } from '../json-pieces.ts';
import type { Workers } from '../workers/workers.ts';
import { ApiProblem, type ApiProblemCode, type PlacedError } from './problems.ts';

export type ApiMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** A handler's response. */
export type Answer =
  | { readonly kind: 'json'; readonly status?: number; readonly body: unknown }
  | { readonly kind: 'empty' }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly kind: 'stream';
      readonly status?: number;
      readonly headers: Readonly<Record<string, string>>;
      /**
       * Writes the response. A rejection before the first `write` becomes a problem response. A later one closes the connection.
       */
      run(write: Write): Promise<void>;
    };

/** Writes text. Resolves when the client can receive more or has disconnected. */
export type Write = (text: string) => Promise<void>;

/** Writes a value in pieces, so that other requests can run in between. */
export const writeJson = async (write: Write, value: unknown): Promise<void> => {
  for await (const piece of jsonStream(value)) await write(piece);
};

/**
 * Writes items as JSON, separated by commas, between `before` and `after`. Writes nothing until the first item arrives or the list
 * ends.
 */
export const writeItems = async (
  write: Write,
  items: AsyncIterable<unknown>,
  { before, after }: { readonly before: string; readonly after: string },
): Promise<void> => {
  let separator = before;
  for await (const item of items) {
    await write(separator);
    await writeJson(write, item);
    separator = ',';
  }
  await write(`${separator === before ? before : ''}${after}`);
};

/** The input of a handler. */
export interface ApiCall<P, Q, B> {
  /** Uses the caller's permissions. */
  readonly backend: Backend;
  readonly workers: Workers;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly headers: { readonly accept: string; readonly lastEventId: string | undefined };
  /** Aborts when the client disconnects or the dashboard stops. */
  readonly signal: AbortSignal;
}

interface RawCall {
  readonly backend: Backend;
  readonly workers: Workers;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly headers: ApiCall<never, never, never>['headers'];
  readonly signal: AbortSignal;
}

/** One response in the OpenAPI document. */
export interface DocumentedAnswer {
  readonly description: string;
  /** Schemas of the body, by media type. Absent if the body is empty. */
  readonly content?: Readonly<Record<string, z.ZodType>>;
}

interface RouteDescription {
  readonly method: ApiMethod;
  /** OpenAPI path template below /api/v1. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly answers: Readonly<Record<number, DocumentedAnswer>>;
  /** Problems in addition to those that any route can return. */
  readonly problems: readonly ApiProblemCode[];
}

export interface ApiRoute extends RouteDescription {
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body?: z.ZodType | undefined;
  /** Responds to a request. Rejects with an `ApiProblem` if the input is invalid. */
  answer(call: RawCall): Promise<Answer>;
}

interface RouteDefinition<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> extends RouteDescription {
  readonly params: P;
  readonly query?: Q;
  readonly body?: B;
  readonly handle: (call: ApiCall<z.output<P>, z.output<Q>, z.output<B>>) => Promise<Answer>;
}

/** Defines a route. Its schemas both parse and document the input. */
export const defineRoute = <P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType = z.ZodUndefined>({
  handle,
  ...definition
}: RouteDefinition<P, Q, B>): ApiRoute => {
  const query: z.ZodObject = definition.query ?? z.strictObject({});
  return {
    ...definition,
    query,
    answer: async ({ params, query: given, body, ...call }) =>
      handle({
        ...call,
        params: parsed(definition.params, params, 'parameter_invalid') as z.output<P>,
        query: parsed(query, fromSearch(given), 'parameter_invalid') as z.output<Q>,
        body: (definition.body && parsed(definition.body, body, 'body_invalid')) as z.output<B>,
      }),
  };
};

/** Reads the query parameters. Rejects repeated ones, because they are ambiguous. */
const fromSearch = (given: URLSearchParams): Record<string, string> => {
  const values: Record<string, string> = {};
  for (const [name, value] of given) {
    if (Object.hasOwn(values, name)) {
      throw new ApiProblem('parameter_invalid', `${name} must be given only once`, {
        errors: [{ name, message: 'must be given only once' }],
      });
    }
    Object.defineProperty(values, name, { value, enumerable: true });
  }
  return values;
};

const parsed = (schema: z.ZodType, input: unknown, code: 'parameter_invalid' | 'body_invalid'): unknown => {
  const result = schema.safeParse(input, {
    error: ({ code: problem, input: value }) =>
      problem === 'invalid_type' && value === undefined ? 'is required' : undefined,
  });
  if (result.success) return result.data;
  const errors = result.error.issues.map((issue): PlacedError => ({
    name: issue.path.join('.'),
    message: issue.message,
  }));
  throw new ApiProblem(
    code,
    errors.map(({ name, message }) => (name === '' ? message : `${name}: ${message}`)).join('; '),
    {
      errors,
    },
  );
};
