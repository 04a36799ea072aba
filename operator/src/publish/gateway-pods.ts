import { isNotFound, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import type { IsGatewayGone } from './lost-gateways.ts';

type Pod = KubeObject & { readonly status?: { readonly phase?: string } };

/** Pods that have ended stay to be looked at. */
const ENDED: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Failed']);

/**
 * Gateways as pods of a namespace, which have their pod's name. While the API server shows the pod, its containers may run, also on a
 * node that nobody reaches; it shows it until the kubelet has ended them, or somebody deleted it by force and answers for that.
 */
export const gatewayPods =
  (client: KubeClient, namespace: string): IsGatewayGone =>
  async (name) => {
    try {
      const pod = await client.get<Pod>(resourcePath({ group: '', version: 'v1', plural: 'pods', namespace, name }));
      return ENDED.has(pod.status?.phase);
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  };

/** For an operator that is alone with its gateway: who is not heard any more has ended. */
export const noGatewayPods: IsGatewayGone = () => Promise.resolve(true);
