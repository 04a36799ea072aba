import { isNotFound, listAll, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';

/**
 * Resolves with whether the gateway with this name and all its data are gone, according to the platform that ran it. Rejects if
 * the platform cannot be queried.
 */
export type IsGatewayGone = (name: string) => Promise<boolean>;

type Pod = KubeObject & { readonly status?: { readonly phase?: string } };

/** The phases of terminated pods, which remain visible for inspection. */
const ENDED: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Failed']);

/**
 * A StatefulSet may create another pod with a name that matches this pattern. The name of a Deployment's pod ends in five random
 * characters and is never reused.
 */
const OF_STATEFUL_SET = /-\d{1,4}$/;

/**
 * Looks up gateways as pods in a namespace. A gateway has its pod's name. While the API server shows the pod, its containers may
 * still run, even on an unreachable node. The pod disappears when the kubelet has terminated the containers, or when a user
 * force-deletes the pod and takes responsibility for the consequences.
 *
 * A StatefulSet pod is permanently gone only when its claim is gone, because the next pod with that name starts with the
 * configuration on that volume, drained or not. Rejects if listing claims is forbidden.
 */
export const gatewayPods =
  (client: Pick<KubeClient, 'get'>, namespace: string): IsGatewayGone =>
  async (name) => {
    if (await isRunning(client, namespace, name)) return false;
    return !OF_STATEFUL_SET.test(name) || !(await hasClaim(client, namespace, name));
  };

const isRunning = async (client: Pick<KubeClient, 'get'>, namespace: string, name: string): Promise<boolean> => {
  try {
    const pod = await client.get<Pod>(resourcePath({ group: '', version: 'v1', plural: 'pods', namespace, name }));
    return !ENDED.has(pod.status?.phase);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
};

/**
 * Returns whether a claim of the pod exists, even if the pod does not. A StatefulSet names a claim after the claim template and the
 * pod.
 */
const hasClaim = async (client: Pick<KubeClient, 'get'>, namespace: string, pod: string): Promise<boolean> => {
  const claims = resourcePath({ group: '', version: 'v1', plural: 'persistentvolumeclaims', namespace });
  const { items } = await listAll(client, claims);
  return items.some(({ metadata }) => metadata.name.endsWith(`-${pod}`));
};

/** Always resolves with true, for an operator whose only gateway starts and stops with it: a lost gateway has stopped. */
export const noGatewayPods: IsGatewayGone = () => Promise.resolve(true);
