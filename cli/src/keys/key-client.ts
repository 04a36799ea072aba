import { accountSchema, apiKeySchema, keyRegenerationSchema, type ApiAccount } from '@standin/dashboard/api-schemas';
import type { KeyRegenerationStatus } from '@standin/crds';
import { apiPath, orUndefined, ServerError, type ApiClient } from '../server/api-client.ts';
import { accountPath, chooseAccount, type AccountChoice, type AccountRef } from '../server/choose-account.ts';

const isServerError = (error: unknown, status: number): boolean =>
  error instanceof ServerError && error.status === status;

/** Regenerates and reads keys through the JSON API. */
export const keyClient = (api: ApiClient) => ({
  /** Finds an account. Rejects with a `PlainError` if no account matches, or the choice is ambiguous. */
  choose: (choice: AccountChoice): Promise<AccountRef> => chooseAccount(api, choice),
  /** Resolves with undefined if the user may regenerate the key but not see the Account. */
  account: async (ref: AccountRef): Promise<ApiAccount | undefined> => {
    try {
      return await api.ask({ path: accountPath(ref) }, accountSchema);
    } catch (error) {
      if (isServerError(error, 403)) return undefined;
      throw error;
    }
  },
  /** Creates the KeyRegeneration. A repeated call with the same name has no effect. */
  create: async (ref: AccountRef, name: string): Promise<void> => {
    const request = { method: 'POST', path: `${accountPath(ref)}/regenerations`, body: { name } } as const;
    try {
      await api.ask(request, keyRegenerationSchema);
    } catch (error) {
      // A conflict means that an earlier attempt has created the object, but its response was lost.
      if (!isServerError(error, 409)) throw error;
    }
  },
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
