import { z } from 'zod';
import type { Backend } from '../backend.ts';
import { jsonStream } from '../json-pieces.ts';
import type { Workers } from '../workers/workers.ts';
import { ApiProblem, type ApiProblemCode, type PlacedError } from './problems.ts';

export type ApiMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** What a handler answers. */
export type Answer =
  | { readonly kind: 'json'; readonly status?: number; readonly body: unknown }
  | { readonly kind: 'empty' }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly kind: 'stream';
      readonly status?: number;
      readonly headers: Readonly<Record<string, string>>;
      /** Writes until it resolves. What it rejects with before its first `write` is answered as a problem; later the connection is cut. */
      run(write: Write): Promise<void>;
    };

/** Resolves when there is room for more. */
export type Write = (text: string) => Promise<void>;

/** Others get their turn where the value has bodies in it. */
export const writeJson = async (write: Write, value: unknown): Promise<void> => {
  for await (const piece of jsonStream(value)) await write(piece);
};

/** Items of a list as they come, between the text before and behind them. Nothing is written before there is an item, or none. */
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

/** What a handler gets of a request. */
export interface ApiCall<P, Q, B> {
  /** With the rights of whoever asks. */
  readonly backend: Backend;
  readonly workers: Workers;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly headers: { readonly accept: string; readonly lastEventId: string | undefined };
  /** Aborts when nobody waits for the answer any more: the reader left, or the dashboard stops. */
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

/** One answer in the OpenAPI document. */
export interface DocumentedAnswer {
  readonly description: string;
  /** By media type; none: an empty body. */
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
  /** Besides those that every route has. */
  readonly problems: readonly ApiProblemCode[];
}

export interface ApiRoute extends RouteDescription {
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body?: z.ZodType | undefined;
  /** Rejects with an `ApiProblem` for input that the schemas refuse. */
  answer(call: RawCall): Promise<Answer>;
}

interface RouteDefinition<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> extends RouteDescription {
  readonly params: P;
  readonly query?: Q;
  readonly body?: B;
  readonly handle: (call: ApiCall<z.output<P>, z.output<Q>, z.output<B>>) => Promise<Answer>;
}

/** A route whose input is parsed by the very schemas that describe it. */
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

/** A parameter that is given twice may mean two things, so it is refused. */
const fromSearch = (given: URLSearchParams): Record<string, string> => {
  const values: Record<string, string> = {};
  for (const [name, value] of given) {
    if (Object.hasOwn(values, name)) {
      throw new ApiProblem('parameter_invalid', `${name} may be given once`, {
        errors: [{ name, message: 'may be given once' }],
      });
    }
    Object.defineProperty(values, name, { value, enumerable: true });
  }
  return values;
};

const parsed = (schema: z.ZodType, input: unknown, code: 'parameter_invalid' | 'body_invalid'): unknown => {
  const result = schema.safeParse(input);
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
