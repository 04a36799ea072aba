import { accountSchema, apiKeySchema, keyRegenerationSchema, type ApiAccount } from '@standin/dashboard/api-schemas';
import type { KeyRegenerationStatus } from '@standin/crds';
import { apiPath, ServerError, type ApiClient } from '../server/api-client.ts';
import { accountPath, chooseAccount, type AccountChoice, type AccountRef } from '../server/choose-account.ts';

/** Where `standin key` regenerates and reads keys: the dashboard of a `standin dev` on this machine, or of a cluster. */
export interface KeyClient {
  /** Rejects with a `PlainError` if no account matches, or the choice is ambiguous. */
  choose(choice: AccountChoice): Promise<AccountRef>;
  /** Undefined if the user may regenerate the key but not see the Account. */
  account(ref: AccountRef): Promise<ApiAccount | undefined>;
  /** Creates the KeyRegeneration. A repeated call with the same name changes nothing. */
  create(ref: AccountRef, name: string): Promise<void>;
  /** Empty until the operator has written a status. */
  status(ref: AccountRef, name: string): Promise<KeyRegenerationStatus>;
  apiKey(ref: AccountRef): Promise<string>;
}

const isServerError = (error: unknown, status: number): boolean =>
  error instanceof ServerError && error.status === status;

export const keyClient = (api: ApiClient): KeyClient => ({
  choose: (choice) => chooseAccount(api, choice),
  account: async (ref) => {
    try {
      return await api.ask({ path: accountPath(ref) }, accountSchema);
    } catch (error) {
      if (isServerError(error, 403)) return undefined;
      throw error;
    }
  },
  create: async (ref, name) => {
    const request = { method: 'POST', path: `${accountPath(ref)}/regenerations`, body: { name } } as const;
    try {
      await api.ask(request, keyRegenerationSchema);
    } catch (error) {
      // The response to an earlier attempt was lost.
      if (!isServerError(error, 409)) throw error;
    }
  },
  status: async (ref, name) => {
    const path = `${accountPath(ref)}${apiPath('regenerations', name)}`;
    try {
      return (await api.ask({ path }, keyRegenerationSchema)).status;
    } catch (error) {
      // An object that was just created may not be visible yet.
      if (isServerError(error, 404)) return {};
      throw error;
    }
  },
  apiKey: async (ref) => (await api.ask({ path: `${accountPath(ref)}/key` }, apiKeySchema)).apiKey,
});
