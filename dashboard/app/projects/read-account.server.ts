import type { ResourceObject } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { notFound, orFail } from '../lib/failures.server.ts';
import type { ProjectParams } from '../lib/paths.ts';
import { getProject, projectSpec } from '../lib/resources.server.ts';

/** The account whose key the project's callers use. */
export const getAccount = async (backend: Backend, params: ProjectParams): Promise<ResourceObject> => {
  const { accountRef } = projectSpec(await getProject(backend, params));
  const { namespace } = params;
  const name = accountRef?.name ?? '';
  const account = await orFail(backend.resources.get({ kind: 'Account', namespace, name }));
  if (account === undefined) throw notFound(`account ${namespace}/${name}`);
  return account;
};
