import { isNotFound, listAll, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import type { IsGatewayGone } from './lost-gateways.ts';

type Pod = KubeObject & { readonly status?: { readonly phase?: string } };

/** Pods that have ended stay to be looked at. */
const ENDED: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Failed']);

/** A StatefulSet makes a pod of this name again. A Deployment's pod ends in five characters that never come back. */
const OF_STATEFUL_SET = /-\d{1,4}$/;

/**
 * Gateways as pods of a namespace, which have their pod's name. While the API server shows the pod, its containers may run, also on a
 * node that nobody reaches; it shows it until the kubelet has ended them, or somebody deleted it by force and answers for that.
 *
 * A pod of a StatefulSet is gone for good only with its claim: the next one of that name starts with the configuration on that volume, drained or
 * not. Rejects where claims may not be listed.
 */
export const gatewayPods =
  (client: Pick<KubeClient, 'get'>, namespace: string): IsGatewayGone =>
  async (name) => {
    if (await isThere(client, namespace, name)) return false;
    return !OF_STATEFUL_SET.test(name) || !(await hasClaim(client, namespace, name));
  };

const isThere = async (client: Pick<KubeClient, 'get'>, namespace: string, name: string): Promise<boolean> => {
  try {
    const pod = await client.get<Pod>(resourcePath({ group: '', version: 'v1', plural: 'pods', namespace, name }));
    return !ENDED.has(pod.status?.phase);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
};

/** A claim of a StatefulSet has the name of its template, then the pod's. */
const hasClaim = async (client: Pick<KubeClient, 'get'>, namespace: string, pod: string): Promise<boolean> => {
  const claims = resourcePath({ group: '', version: 'v1', plural: 'persistentvolumeclaims', namespace });
  const { items } = await listAll(client, claims);
  return items.some(({ metadata }) => metadata.name.endsWith(`-${pod}`));
};

/** For an operator that is alone with its gateway: who is not heard any more has ended. */
export const noGatewayPods: IsGatewayGone = () => Promise.resolve(true);
