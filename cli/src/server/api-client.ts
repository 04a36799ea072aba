import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { errorMessage, LineSplitter } from '@standin/contract';
import { z } from 'zod';
import { PlainError } from '../plain-error.ts';
import type { FindToken } from './find-token.ts';

type ApiQuery = Readonly<Record<string, string | number | undefined>>;

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path below /api/v1, encoded. */
  readonly path: string;
  readonly query?: ApiQuery;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/**
 * The JSON API of a dashboard (docs/reference/api.md). All methods reject with a `ServerError`, with a `PlainError` if there is no token, or
 * with the signal's reason when it aborts.
 */
export interface ApiClient {
  /** The server's address, for error messages. */
  readonly server: string;
  /** Returns the URL at which browsers reach the server. Throws a `PlainError` if there is none. */
  publicUrl(): URL;
  /** Undefined if the server is a cluster's dashboard. */
  readonly local: LocalServer | undefined;
  /** Resolves with the response's JSON, parsed by `schema`. */
  ask<T>(request: ApiRequest, schema: z.ZodType<T>): Promise<T>;
  /** Reads a response line by line. */
  lines(request: ApiRequest): Promise<{ readonly headers: Headers; readonly lines: AsyncIterable<string> }>;
}

/** Properties of a server that is `standin dev`. */
interface LocalServer {
  /** Whether the server has pages. False if it was started with --no-dashboard, or if its dashboard could not be built. */
  readonly hasPages: boolean;
  /** The token that the pages require. Undefined if they require none. */
  readonly token: string | undefined;
  /** Rejects with a `PlainError` if `standin dev` has ended. */
  checkRunning(): Promise<void>;
}

/** The reason why a request to a dashboard failed. */
export class ServerError extends PlainError {
  /** Status of the response, or 0 if there was no response. */
  readonly status: number;
  /** A code from docs/reference/errors.md. Empty if there is no response, or if the response has no code. */
  readonly code: string;

  constructor(message: string, { status, code, ...options }: ErrorOptions & { status: number; code: string }) {
    super(message, options);
    this.status = status;
    this.code = code;
  }

  /** Whether a later retry may succeed. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/**
 * Encodes parts and joins them to a path such as `/namespaces/team-a/projects/shop`. Throws a `PlainError` for a name that would
 * change the path.
 */
export const apiPath = (...parts: readonly string[]): string => {
  const step = parts.find((part) => ['', '.', '..'].includes(part));
  if (step !== undefined) throw new PlainError(`${JSON.stringify(step)} is not a valid name`);
  return `/${parts.map(encodeURIComponent).join('/')}`;
};

/** Resolves with the response, or with `undefined` for 404. */
export const orUndefined = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ServerError && error.status === 404) return undefined;
    throw error;
  }
};

const problemSchema = z.object({ code: z.string(), detail: z.string() });
const SERVICE_HEADER = 'standin-service';

export interface ResponseLimits {
  /** Size limit for a response or for one of its lines. A larger one cannot come from a dashboard. */
  readonly responseBytesMax: number;
  /** Time limit until a response begins. Node limits later silence to five minutes. */
  readonly headMsMax: number;
}

export const RESPONSE_LIMITS: ResponseLimits = {
  // Two bodies of 10 MiB, which can be six times as large in JSON, plus a margin.
  responseBytesMax: 256 * 1024 * 1024,
  // A dashboard stops waiting for ClickHouse earlier.
  headMsMax: 60_000,
};

interface ClientOptions {
  /**
   * Called when the server requires a token, or no longer accepts the last one, because tokens expire while a command runs. Undefined
   * if only `given` may be sent.
   */
  readonly findToken: FindToken | undefined;
  /** A token that is sent from the first request, even if the server does not require one. */
  readonly given: string | undefined;
  readonly limits: ResponseLimits;
  readonly local?: LocalServer;
  /** By default, the server's address. */
  readonly publicUrl?: () => URL;
  /** Connects to the server. By default, over the network. */
  readonly fetch?: typeof fetch;
}

export const apiClient = (base: URL, options: ClientOptions): ApiClient => {
  const { findToken, given, limits, local, publicUrl = () => base, fetch: connect = fetch } = options;
  const { responseBytesMax, headMsMax } = limits;
  let token = given;
  const attempt = ({ method = 'GET', path, query = {}, body, headers, signal }: ApiRequest): Promise<Response> => {
    const url = new URL(`${base.pathname.replace(/\/+$/, '')}/api/v1${path}`, base);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const init: RequestInit = {
      method,
      redirect: 'error',
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(method !== 'GET' && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    return reach(base, () => fetchHead(connect, url, { ...init, signal: signal ?? null }, headMsMax));
  };
  const send = async (request: ApiRequest): Promise<Response> => {
    let response = await attempt(request);
    if (response.status === 401 && findToken !== undefined) {
      await response.body?.cancel();
      token = await findToken({ server: base, service: response.headers.get(SERVICE_HEADER) ?? undefined });
      response = await attempt(request);
    }
    if (!response.ok) throw await responseError(base, response, responseBytesMax);
    return response;
  };
  return {
    server: base.host,
    publicUrl,
    local,
    ask: async (request, schema) => {
      const response = await send(request);
      const result = schema.safeParse(parseJson(await readResponseText(base, response, responseBytesMax)));
      if (result.success) return result.data;
      throw new ServerError(`unexpected response from ${base.host}: it does not seem to be a Standin dashboard`, {
        status: response.status,
        code: '',
      });
    },
    lines: async (request) => {
      const { headers, body } = await send(request);
      return { headers, lines: readLines(base, body, responseBytesMax) };
    },
  };
};

/** Calls `connect` with a time limit until the response begins. */
const fetchHead = async (connect: typeof fetch, url: URL, init: RequestInit, msMax: number): Promise<Response> => {
  const silence = new AbortController();
  const timer = setTimeout(() => {
    const message = `no response within ${msMax / 1_000} s. Check that this is the address of a Standin dashboard`;
    silence.abort(new Error(message));
  }, msMax);
  try {
    return await connect(url, {
      ...init,
      signal: AbortSignal.any([silence.signal, ...(init.signal ? [init.signal] : [])]),
    });
  } finally {
    clearTimeout(timer);
  }
};

/** Yields the lines of a response. A line may be as long as a whole response to `ask`. */
async function* readLines(base: URL, body: ReadableStream | null, lineBytesMax: number): AsyncGenerator<string> {
  if (body === null) return;
  const splitter = new LineSplitter(lineBytesMax);
  try {
    for await (const chunk of Readable.fromWeb(body) as AsyncIterable<Buffer>) yield* splitter.push(chunk);
  } catch (error) {
    throw error instanceof RangeError ? tooLong(base) : connectionError(base, error);
  }
  const last = splitter.rest();
  if (last !== '') yield last;
}

/** Reads a whole body of at most `bytesMax`. For a longer body, ends the connection and rejects. */
const readResponseText = (base: URL, { body }: Response, bytesMax: number): Promise<string> =>
  reach(base, async () => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLong(base);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  });

const tooLong = ({ host }: URL): ServerError =>
  new ServerError(`the response from ${host} is too large for a Standin dashboard`, { status: 200, code: '' });

const reach = async <T>(base: URL, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw connectionError(base, error);
  }
};

const connectionError = (base: URL, error: unknown): unknown => {
  const { name, cause = error } = error as Error;
  if (name === 'AbortError' || error instanceof ServerError) return error;
  return new ServerError(`cannot reach ${base.host}: ${errorMessage(cause)}`, {
    status: 0,
    code: '',
    cause: error,
  });
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const responseError = async (base: URL, response: Response, bytesMax: number): Promise<ServerError> => {
  const { status } = response;
  const problem = problemSchema.safeParse(parseJson(await readResponseText(base, response, bytesMax)));
  if (problem.success)
    return new ServerError(`${base.host}: ${problem.data.detail}`, { status, code: problem.data.code });
  const cause =
    status >= 500
      ? 'the dashboard or a proxy in front of it is unavailable'
      : 'it does not seem to be a Standin dashboard';
  return new ServerError(`unexpected response (${status}) from ${base.host}: ${cause}`, { status, code: '' });
};
