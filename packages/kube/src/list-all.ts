// client-node does not follow the pages of a list, and does not limit their size.

import { isExpired } from './api-error.ts';
import { ResponseTooLargeError, type KubeClient, type Query } from './kube-client.ts';
import type { KubeList, KubeObject } from './kube-object.ts';

/** client-go's page size. Pages are small, so other requests to etcd can run between them. */
const PAGE_SIZE_DEFAULT = 500;
/**
 * A page of several objects is in memory as a whole. An object can have 1.5 MB in etcd, so a page of 500 objects could have 750 MB. One
 * object is always read: as JSON, it can be six times as large as in etcd.
 */
const PAGE_BYTES_MAX_DEFAULT = 8 * 1024 * 1024;

export interface ListOptions {
  readonly query?: Query | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly pageSize?: number | undefined;
  /** Number of objects in the first page. The server reads even what is then refused as too large. Default: `pageSize`. */
  readonly firstPageSize?: number | undefined;
  /** Maximum size of a page of several objects. */
  readonly pageBytesMax?: number | undefined;
  /** Whether to make only one attempt per page. */
  readonly once?: boolean | undefined;
}

export interface Listed<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

interface Page<T> extends Listed<T> {
  /** Whether more pages follow. */
  readonly isPartial: boolean;
}

const callOptions = ({ query, signal, once = false }: ListOptions) => ({
  query: query ?? {},
  once,
  ...(signal !== undefined && { signal }),
});

/**
 * Reads pages at one resourceVersion. Pages have fewer objects where objects are large. Throws `ApiError`, also if a continue token
 * expires (etcd keeps about five minutes of history).
 */
export const listPages = async function* <T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  path: string,
  options: ListOptions,
): AsyncGenerator<Page<T>> {
  const { pageSize = PAGE_SIZE_DEFAULT, pageBytesMax = PAGE_BYTES_MAX_DEFAULT } = options;
  const call = callOptions(options);
  let limit = Math.min(pageSize, options.firstPageSize ?? pageSize);
  let token: string | undefined;
  for (;;) {
    const query = { ...call.query, limit, continue: token };
    const page = await client
      .get<KubeList<T>>(path, { ...call, query, ...(limit > 1 && { bytesMax: pageBytesMax }) })
      .catch((error: unknown) => {
        if (!(error instanceof ResponseTooLargeError)) throw error;
      });
    if (page === undefined) {
      limit = Math.ceil(limit / 4);
      continue;
    }
    token = page.metadata.continue === '' ? undefined : page.metadata.continue;
    yield { items: page.items ?? [], resourceVersion: page.metadata.resourceVersion, isPartial: token !== undefined };
    limit = Math.min(pageSize, limit * 2);
    if (token === undefined) return;
  }
};

/** Reads the whole list, like client-go: in pages, or if a continue token expires, in one response. Rejects with `ApiError`. */
export const listAll = async <T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  path: string,
  options: ListOptions = {},
): Promise<Listed<T>> => {
  const items: T[] = [];
  let version = '';
  try {
    for await (const page of listPages<T>(client, path, options)) {
      for (const item of page.items) items.push(item);
      version = page.resourceVersion;
    }
    return { items, resourceVersion: version };
  } catch (error) {
    if (!isExpired(error)) throw error;
    const list = await client.get<KubeList<T>>(path, callOptions(options));
    return { items: list.items ?? [], resourceVersion: list.metadata.resourceVersion };
  }
};
