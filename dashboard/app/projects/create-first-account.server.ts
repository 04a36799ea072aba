import { GROUP_VERSION } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { refusalOf } from '../lib/failures.server.ts';

/** Creates the account `default/default`, which generates its key. Returns the reason if that is refused. */
export const createFirstAccount = async ({ resources }: Backend): Promise<string | undefined> => {
  const metadata = { namespace: 'default', name: 'default' };
  try {
    const account = { apiVersion: GROUP_VERSION, kind: 'Account', metadata, spec: { plan: 'Free' } } as const;
    const result = await resources.apply(account, 'absent');
    return result.ok ? undefined : result.problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
  } catch (error) {
    return refusalOf(error);
  }
};
