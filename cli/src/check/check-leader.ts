import { setTimeout as delay } from 'node:timers/promises';
import { isNotFound, resourcePath, type KubeClient, type Lease } from '@standin/kube';
import { LEASE_NAME } from '@standin/operator';
import { failed, passed, type Finding } from './finding.ts';

const CHECK = 'Leader';
const LEASE_SECONDS_DEFAULT = 8;
const POLL_MS = 200;

/**
 * Checks that an operator renews the Lease. Waits until it does, for at most the duration of the Lease, because the clocks of this
 * machine and the cluster may differ. Rejects when `signal` aborts.
 */
export const checkLeader = async (
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly Finding[]> => {
  const remedy = `See the log of the operator: kubectl logs -l app.kubernetes.io/component=operator -n ${namespace}.`;
  const first = await readLease(client, namespace);
  const { renewTime, leaseDurationSeconds = LEASE_SECONDS_DEFAULT } = first?.spec ?? {};
  const deadline = performance.now() + leaseDurationSeconds * 1_000;
  for (let lease = first; ; lease = await readLease(client, namespace)) {
    const holder = lease?.spec.holderIdentity ?? '';
    const isHeld = holder !== '' && lease?.spec.renewTime !== undefined;
    if (isHeld && lease?.spec.renewTime !== renewTime) return [passed(CHECK, `${holder} leads.`)];
    if (performance.now() >= deadline)
      return [
        isHeld
          ? failed(CHECK, `No operator leads. ${holder} renewed its Lease last at ${renewTime ?? ''}.`, remedy)
          : failed(CHECK, `No operator holds Lease ${namespace}/${LEASE_NAME}.`, remedy),
      ];
    await delay(POLL_MS, undefined, { signal });
  }
};

export const readLease = (client: Pick<KubeClient, 'get'>, namespace: string): Promise<Lease | undefined> => {
  const place = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespace, name: LEASE_NAME };
  return client.get<Lease>(resourcePath(place)).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
};
