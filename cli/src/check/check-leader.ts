import { setTimeout as delay } from 'node:timers/promises';
import { isNotFound, resourcePath, type KubeClient, type Lease } from '@standin/kube';
import { LEASE_NAME } from '@standin/operator';
import { failed, passed, type Finding } from './finding.ts';

const CHECK = 'Leader';
const LEASE_SECONDS_DEFAULT = 8;

/**
 * Checks that an operator renews the Lease. As the clocks of this machine and the cluster may differ, an old Lease counts only if it
 * is not renewed within its duration.
 */
export const checkLeader = async (client: KubeClient, namespace: string, now: Date): Promise<readonly Finding[]> => {
  const lease = await readLease(client, namespace);
  const remedy = `See the log of the operator: kubectl logs -l app.kubernetes.io/component=operator -n ${namespace}.`;
  const { holderIdentity = '', renewTime, leaseDurationSeconds = LEASE_SECONDS_DEFAULT } = lease?.spec ?? {};
  if (holderIdentity === '' || renewTime === undefined)
    return [failed(CHECK, `No operator holds Lease ${namespace}/${LEASE_NAME}.`, remedy)];
  if (now.getTime() - Date.parse(renewTime) > leaseDurationSeconds * 1_000) {
    await delay(leaseDurationSeconds * 1_000);
    if ((await readLease(client, namespace))?.spec.renewTime === renewTime)
      return [failed(CHECK, `No operator leads. ${holderIdentity} renewed its Lease last at ${renewTime}.`, remedy)];
  }
  return [passed(CHECK, `${holderIdentity} leads.`)];
};

export const readLease = (client: KubeClient, namespace: string): Promise<Lease | undefined> => {
  const place = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespace, name: LEASE_NAME };
  return client.get<Lease>(resourcePath(place)).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
};
