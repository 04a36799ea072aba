import type { components } from './api.generated.ts';

type Problem = components['schemas']['Problem'];
export type AssertionFailure = components['schemas']['AssertionFailure'];

/** Longer than any wait of the API. */
const TIMEOUT_MS = 120_000;

/** The reason why a call failed. The message says what to do. */
export class StandinError extends Error {
  override readonly name: string = 'StandinError';
  /** A code from docs/reference/errors.md. Empty if there is no response. */
  readonly code: string;
  /** Status of the response, or 0 if there is none. */
  readonly status: number;

  constructor(message: string, { code = '', status = 0, cause }: Partial<Problem> & { cause?: unknown } = {}) {
    super(message, { cause });
    this.code = code;
    this.status = status;
  }
}

/** Requests that were captured do not meet an assertion. The message says which, and what was found instead. */
export class StandinAssertionError extends StandinError {
  override readonly name = 'StandinAssertionError';
  readonly failures: readonly AssertionFailure[];

  constructor(problem: Problem) {
    super(problem.detail, problem);
    this.failures = problem.failures ?? [];
  }
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
}

/** Calls the JSON API (docs/reference/api.md). */
export class Api {
  readonly #url: string;
  readonly #token: string | undefined;

  constructor(url: string, token: string | undefined) {
    this.#url = url.replace(/\/+$/, '');
    this.#token = token;
  }

  /** Resolves with the JSON of the response. Rejects with a `StandinError`. */
  async ask<T>(path: string, { method = 'GET', query = {}, body }: Call = {}): Promise<T> {
    const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
    const headers: Record<string, string> = { accept: 'application/json' };
    if (this.#token !== undefined) headers['authorization'] = `Bearer ${this.#token}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    const request: RequestInit = { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
    if (body !== undefined) request.body = JSON.stringify(body);
    const url = `${this.#url}/api/v1${path}${search}`;
    const { status, ok, text } = await send(url, request).catch((cause: unknown) => {
      throw new StandinError(`${this.#url} does not respond. Is Standin running?`, { cause });
    });
    const json = parseJson(text);
    // An empty response has nothing to parse.
    if (ok && (text === '' || json !== undefined)) return json as T;
    throw toError(status, text, json);
  }
}

const send = async (url: string, request: RequestInit) => {
  const response = await fetch(url, request);
  return { status: response.status, ok: response.ok, text: await response.text() };
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Servers on the way, such as the login page of a proxy, respond with something else than problems. */
const toError = (status: number, text: string, json: unknown): StandinError => {
  const problem = (json ?? {}) as Partial<Problem>;
  const { code, detail } = problem;
  if (typeof code !== 'string' || typeof detail !== 'string')
    return new StandinError(`the server responded with ${status}: ${text.slice(0, 200)}`, { status });
  return code === 'assertion_failed'
    ? new StandinAssertionError(problem as Problem)
    : new StandinError(detail, { code, status });
};

/** Encodes names as a path, such as `/namespaces/default/projects/shop`. */
export const apiPath = (...parts: readonly string[]): string => `/${parts.map(encodeURIComponent).join('/')}`;
