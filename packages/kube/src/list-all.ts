import { isExpired } from './api-error.ts';
import type { KubeClient, Query } from './kube-client.ts';
import type { KubeList, KubeObject } from './kube-object.ts';

/** client-go's page size. Pages are small, so other requests to etcd can run between them. */
const PAGE_SIZE_DEFAULT = 500;

export interface ListOptions {
  readonly query?: Query | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly pageSize?: number | undefined;
  /** Whether to make only one attempt per page. */
  readonly once?: boolean | undefined;
}

export interface Listed<T> {
  readonly items: T[];
  readonly resourceVersion: string;
}

const listPages = async <T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  path: string,
  options: ListOptions,
  limit: number | undefined,
): Promise<Listed<T>> => {
  const items: T[] = [];
  let token: string | undefined;
  for (;;) {
    const page = await client.get<KubeList<T>>(path, {
      query: { ...options.query, limit, continue: token },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      once: options.once ?? false,
    });
    for (const item of page.items ?? []) items.push(item);
    token = page.metadata.continue;
    if (token === undefined || token === '') return { items, resourceVersion: page.metadata.resourceVersion };
  }
};

/**
 * Reads the whole list, page by page, at one resourceVersion. If a continue token expires before the end (etcd keeps about five
 * minutes of history), reads one list without pages, like client-go. Rejects with `ApiError`.
 */
export const listAll = async <T extends KubeObject>(
  client: Pick<KubeClient, 'get'>,
  path: string,
  options: ListOptions = {},
): Promise<Listed<T>> => {
  try {
    return await listPages<T>(client, path, options, options.pageSize ?? PAGE_SIZE_DEFAULT);
  } catch (error) {
    if (!isExpired(error)) throw error;
    return listPages<T>(client, path, options, undefined);
  }
};
