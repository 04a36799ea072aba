import {
  accountListSchema,
  accountSchema,
  apiKeySchema,
  keyRegenerationSchema,
  type ApiAccount,
} from '@standin/dashboard/api-schemas';
import type { KeyRegenerationStatus } from '@standin/crds';
import { PlainError } from '../plain-error.ts';
import { ServerError, type ApiClient } from '../server/api-client.ts';

export interface AccountChoice {
  readonly namespace: string | undefined;
  /** Undefined: the only one that can be seen. */
  readonly account: string | undefined;
}

export interface AccountRef {
  readonly namespace: string;
  readonly name: string;
}

/** Where `standin key` regenerates and reads keys: the dashboard of a `standin dev` on this machine, or of a cluster. */
export interface KeyClient {
  /** Rejects with a `PlainError` where there is none, or it is not clear which one is meant. */
  choose(choice: AccountChoice): Promise<AccountRef>;
  /** Undefined where whoever asks may regenerate the key and not see the Account. */
  account(ref: AccountRef): Promise<ApiAccount | undefined>;
  /** Creates the KeyRegeneration; the same name again changes nothing. */
  create(ref: AccountRef, name: string): Promise<void>;
  /** Empty until there is something to say of it. */
  status(ref: AccountRef, name: string): Promise<KeyRegenerationStatus>;
  apiKey(ref: AccountRef): Promise<string>;
}

const SHOWN_MAX = 10;

const pathOf = ({ namespace, name }: AccountRef): string =>
  `/namespaces/${encodeURIComponent(namespace)}/accounts/${encodeURIComponent(name)}`;

const isServerError = (error: unknown, status: number): boolean =>
  error instanceof ServerError && error.status === status;

export const keyClient = (api: ApiClient): KeyClient => ({
  choose: async ({ namespace, account }) => {
    if (namespace !== undefined && account !== undefined) return { namespace, name: account };
    const { items } = await api.ask({ path: '/accounts', query: { namespace } }, accountListSchema);
    const fitting = items.filter(({ name }) => account === undefined || name === account);
    const [only] = fitting;
    if (only !== undefined && fitting.length === 1) return only;
    if (only === undefined) {
      const which = [account, namespace && `in the namespace ${namespace}`].filter(Boolean).join(' ');
      throw new PlainError(`${api.server} shows you no account ${which}`.trimEnd());
    }
    const names = fitting.map((found) => `${found.name} -n ${found.namespace}`);
    throw new PlainError(
      `which account? ${names.slice(0, SHOWN_MAX).join(', ')}${names.length > SHOWN_MAX ? ', …' : ''}`,
    );
  },
  account: async (ref) => {
    try {
      return await api.ask({ path: pathOf(ref) }, accountSchema);
    } catch (error) {
      if (isServerError(error, 403)) return undefined;
      throw error;
    }
  },
  create: async (ref, name) => {
    const request = { method: 'POST', path: `${pathOf(ref)}/regenerations`, body: { name } } as const;
    try {
      await api.ask(request, keyRegenerationSchema);
    } catch (error) {
      // The answer to an earlier attempt was lost.
      if (!isServerError(error, 409)) throw error;
    }
  },
  status: async (ref, name) => {
    const path = `${pathOf(ref)}/regenerations/${encodeURIComponent(name)}`;
    try {
      return (await api.ask({ path }, keyRegenerationSchema)).status;
    } catch (error) {
      // What was created a moment ago may not be seen yet.
      if (isServerError(error, 404)) return {};
      throw error;
    }
  },
  apiKey: async (ref) => (await api.ask({ path: `${pathOf(ref)}/key` }, apiKeySchema)).apiKey,
});
