import { accountSchema, apiKeySchema, keyRegenerationSchema, type ApiAccount } from '@standin/dashboard/api-schemas';
import type { KeyRegenerationStatus } from '@standin/crds';
import { apiPath, orUndefined, ServerError, type ApiClient } from '../server/api-client.ts';
import { accountPath, chooseAccount, type AccountChoice, type AccountRef } from '../server/choose-account.ts';

/** Regenerates and reads keys through the JSON API. */
export const keyClient = (api: ApiClient) => ({
  /** Finds an account. Rejects with a `PlainError` if no account matches, or the choice is ambiguous. */
  choose: (choice: AccountChoice): Promise<AccountRef> => chooseAccount(api, choice),
  /** Resolves with undefined if the user may regenerate the key but not see the Account. */
  account: async (ref: AccountRef): Promise<ApiAccount | undefined> => {
    try {
      return await api.ask({ path: accountPath(ref) }, accountSchema);
    } catch (error) {
      if (error instanceof ServerError && error.status === 403) return undefined;
      throw error;
    }
  },
  /** Rejects with a `ServerError`, whose status is 409 if there is a KeyRegeneration of this name. */
  create: (ref: AccountRef, name: string) =>
    api.ask({ method: 'POST', path: `${accountPath(ref)}/regenerations`, body: { name } }, keyRegenerationSchema),
  /**
   * Resolves with the status, which is empty until the operator has written one, or with undefined if there is no such
   * KeyRegeneration.
   */
  status: async (ref: AccountRef, name: string): Promise<KeyRegenerationStatus | undefined> => {
    const path = `${accountPath(ref)}${apiPath('regenerations', name)}`;
    return (await orUndefined(api.ask({ path }, keyRegenerationSchema)))?.status;
  },
  apiKey: async (ref: AccountRef): Promise<string> =>
    (await api.ask({ path: `${accountPath(ref)}/key` }, apiKeySchema)).apiKey,
});

export type KeyClient = ReturnType<typeof keyClient>;
