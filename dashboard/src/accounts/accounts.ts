import { GROUP_VERSION, type ResourceObject } from '@standin/contract';
import type { ApplyResult, Backend } from '../backend.ts';
import { getProject } from '../projects/projects.ts';
import type { AccountName, ProjectName } from '../resources/names.ts';
import { NotFound } from '../resources/not-found.ts';
import { accountSpec, projectSpec } from '../resources/specs.ts';

/** Returns an account. Rejects with `NotFound` or `SourceError`. */
export const getAccount = async (
  { resources }: Pick<Backend, 'resources'>,
  { namespace, account }: AccountName,
): Promise<ResourceObject> => {
  const object = await resources.get({ kind: 'Account', namespace, name: account });
  if (object !== undefined) return object;
  const detail = `Account ${account} does not exist in namespace ${namespace}.`;
  throw new NotFound('account', `account ${namespace}/${account}`, detail);
};

/** Returns the account whose key the project's callers use. */
export const projectAccount = async (backend: Backend, project: ProjectName): Promise<ResourceObject> => {
  const { accountRef } = projectSpec(await getProject(backend, project));
  return getAccount(backend, { namespace: project.namespace, account: accountRef?.name ?? '' });
};

/** An account that does not allow its endpoints to accept signatures. */
export interface DisallowingAccount {
  readonly account: string;
  /** The command that allows signatures. Undefined in local mode, where users edit the manifest. */
  readonly command: string | undefined;
}

/** Returns the project's account if it does not allow signatures. Returns undefined for users who may not read Accounts. */
export const disallowingAccount = async (
  { resources, mode }: Pick<Backend, 'resources' | 'mode'>,
  project: ResourceObject,
): Promise<DisallowingAccount | undefined> => {
  const { namespace } = project.metadata;
  const name = projectSpec(project).accountRef?.name ?? '';
  const found = await resources.get({ kind: 'Account', namespace, name }).catch(() => undefined);
  if (found === undefined || accountSpec(found).signatures === 'Allowed') return undefined;
  const patch = `kubectl patch mac ${name} -n ${namespace} --type merge -p '{"spec":{"signatures":"Allowed"}}'`;
  return { account: name, command: mode === 'local' ? undefined : patch };
};

/** Returns the account's key. Requires permission to read its Secret. Rejects with `NotFound` if there is no key yet. */
export const getApiKey = async (
  { resources }: Pick<Backend, 'resources'>,
  account: ResourceObject,
): Promise<string> => {
  const apiKey = await resources.readApiKey(account);
  if (apiKey === undefined) throw new NotFound('key', 'account API key');
  return apiKey;
};

/** Creates the account `default/default`. The operator generates its key. */
export const createFirstAccount = ({ resources }: Backend): Promise<ApplyResult> =>
  resources.apply(
    {
      apiVersion: GROUP_VERSION,
      kind: 'Account',
      metadata: { namespace: 'default', name: 'default' },
      spec: { plan: 'Free' },
    },
    'absent',
  );
