import { GROUP_VERSION } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { refusalOf } from '../lib/failures.server.ts';

/** The account `default/default`, which generates its key. Returns what stands against it. */
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
