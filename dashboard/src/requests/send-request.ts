import type { HeaderPair } from '@standin/contract';
import { getAccount } from '../accounts/accounts.ts';
import type { Backend } from '../backend.ts';
import { getProject, readProjectUri } from '../projects/projects.ts';
import type { ProjectName } from '../resources/names.ts';
import { projectSpec } from '../resources/specs.ts';

/** A request to an endpoint. Header values are latin1, as on the wire. */
export interface RequestToSend {
  readonly method: string;
  /** The path after the project URI, percent-encoded. */
  readonly path: string;
  readonly query?: string;
  readonly headers: readonly HeaderPair[];
  /** Undefined for methods whose requests have no body. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

interface ReceivedResponse {
  readonly status: number;
  readonly durationMs: number;
  /** The beginning of the body. Undefined if it is not text. */
  readonly text: string | undefined;
  /** True if the body is longer than `text`. */
  readonly isCut: boolean;
  /** The code with which the gateway rejected the request. Rejected requests are not logged. */
  readonly rejected: string | undefined;
}

/** `error` is the reason why nothing was sent or no response was received. */
export type SendResult = ReceivedResponse | { readonly error: string };

const SEND_MS_MAX = 30_000;
const TEXT_BYTES_MAX = 16 * 1024;
const KEY_HEADER = 'x-api-key';

/** Calls an endpoint through the gateway, as its callers do. Adds the API key, unless the request has one. */
export const sendRequest = async (
  backend: Backend,
  project: ProjectName,
  { method, path, query = '', headers: given, body }: RequestToSend,
): Promise<SendResult> => {
  const owner = await getProject(backend, project);
  const account = projectSpec(owner).accountRef?.name ?? '';
  const apiKey = await backend.resources.readApiKey(
    await getAccount(backend, { namespace: project.namespace, account }),
  );
  if (apiKey === undefined) return { error: 'The account has no API key yet. See Settings → API key for the reason.' };
  const target = targetUrl(backend.sendUrl, `/${await readProjectUri(backend, owner)}${path}`, query);
  const startedAt = performance.now();
  try {
    const headers = new Headers(given.map(([name, value]): [string, string] => [name, value]));
    if (!headers.has(KEY_HEADER)) headers.set(KEY_HEADER, apiKey);
    const signal = AbortSignal.timeout(SEND_MS_MAX);
    const response = await fetch(target, {
      method,
      redirect: 'manual',
      headers,
      signal,
      ...(body !== undefined && { body }),
    });
    const { bytes, isCut } = await readBeginning(response);
    return {
      status: response.status,
      durationMs: performance.now() - startedAt,
      text: decodeBeginning(bytes, isCut),
      isCut,
      rejected: response.headers.get('standin-rejected') ?? undefined,
    };
  } catch (error) {
    return { error: failureReason(error, target.origin) };
  }
};

/** Returns the URL of a path below the base. A URL joined as text could lead to another host. */
const targetUrl = (base: string, path: string, query: string): URL => {
  const target = new URL(base);
  target.pathname = `${target.pathname.replace(/\/$/, '')}${path}`;
  target.search = query;
  return target;
};

const readBeginning = async ({ body }: Response): Promise<{ bytes: Uint8Array; isCut: boolean }> => {
  const reader = body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    chunks.push(next.value);
    length += next.value.byteLength;
    if (length > TEXT_BYTES_MAX) break;
  }
  await reader?.cancel();
  return { bytes: Buffer.concat(chunks).subarray(0, TEXT_BYTES_MAX), isCut: length > TEXT_BYTES_MAX };
};

/** Decodes UTF-8. If the bytes were cut, ignores an incomplete character at their end. */
const decodeBeginning = (bytes: Uint8Array, isCut: boolean): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
};

const failureReason = (error: unknown, origin: string): string => {
  const { cause = error } = error as { cause?: unknown };
  const { code = '', message = '' } = cause as { code?: string; message?: string };
  if (['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'].includes(code) || cause instanceof TypeError)
    return `The request cannot be sent: ${message}.`;
  return `No response from ${origin}. If the dashboard cannot reach this address, send the request yourself.`;
};
