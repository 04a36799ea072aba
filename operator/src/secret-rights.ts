import { SourceError } from '@standin/contract';
import { asSourceError } from '@standin/kube';

/** Name of the Role and the RoleBinding in each namespace, as in charts/standin/templates/operator/secrets-role.yaml. */
const SECRETS_ROLE = 'standin-operator-secrets';
/** How the API server names the missing permission of a ServiceAccount. */
const DENIED = /User "system:serviceaccount:([a-z0-9.-]+):([a-z0-9.-]+)" cannot ([a-z]+) resource "secrets"/;

/**
 * Waits for a call for Secrets in a namespace. Rejects with a `SourceError`. If the operator's ServiceAccount lacks a permission,
 * its message contains the command that grants the permission.
 */
export const asSecretError = async <T>(namespace: string, call: Promise<T>): Promise<T> => {
  try {
    return await asSourceError(call);
  } catch (error) {
    if (!(error instanceof SourceError) || error.kind !== 'Forbidden') throw error;
    const [, system, account, verb] = DENIED.exec(error.message) ?? [];
    if (system === undefined || account === undefined || verb === undefined) throw error;
    const role = `kubectl create role ${SECRETS_ROLE} -n ${namespace} --verb=get,create,update --resource=secrets`;
    const binding = `kubectl create rolebinding ${SECRETS_ROLE} -n ${namespace} --role=${SECRETS_ROLE} --serviceaccount=${system}:${account}`;
    throw new SourceError(
      'Forbidden',
      `ServiceAccount ${system}/${account} needs the verb "${verb}" on secrets in namespace ${namespace}: run "${role} && ${binding}"`,
      { cause: error },
    );
  }
};
