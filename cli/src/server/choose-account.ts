import { accountListSchema } from '@standin/dashboard/api-schemas';
import { PlainError } from '../plain-error.ts';
import { apiPath, type ApiClient } from './api-client.ts';

export interface AccountChoice {
  readonly namespace: string | undefined;
  /** If undefined, the only visible account is used. */
  readonly account: string | undefined;
}

export interface AccountRef {
  readonly namespace: string;
  readonly name: string;
}

const SHOWN_MAX = 10;

/** Resolves with the account that the user selected. Rejects with a `PlainError` if none matches, or the choice is ambiguous. */
export const chooseAccount = async (api: ApiClient, { namespace, account }: AccountChoice): Promise<AccountRef> => {
  if (namespace !== undefined && account !== undefined) return { namespace, name: account };
  const { items } = await api.ask({ path: '/accounts', query: { namespace } }, accountListSchema);
  const fitting = items.filter(({ name }) => account === undefined || name === account);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  if (only === undefined) {
    const which = account === undefined ? 'any account' : `account ${account}`;
    const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
    throw new PlainError(`you cannot see ${which}${where} on ${api.server}`);
  }
  const names = fitting.map((found) => `${found.name} -n ${found.namespace}`);
  throw new PlainError(
    `specify an account: ${names.slice(0, SHOWN_MAX).join(', ')}${names.length > SHOWN_MAX ? ', …' : ''}`,
  );
};

export const accountPath = ({ namespace, name }: AccountRef): string =>
  apiPath('namespaces', namespace, 'accounts', name);
