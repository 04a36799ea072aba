import { ApiError, type KubeClient } from '@standin/kube';
import type { Component, Installation, Pod } from './installation.ts';

type PodSpec = Component['workload']['spec']['template']['spec'];

export const component = (
  name: string,
  spec: Partial<PodSpec> = {},
  more: Partial<Component> & { readonly env?: Readonly<Record<string, string>> } = {},
): Component => {
  const env = Object.entries(more.env ?? {}).map(([variable, value]) => ({ name: variable, value }));
  const containers = [{ name, image: 'standin', env }];
  return {
    name,
    kind: 'Deployment',
    workload: {
      metadata: { name: `standin-${name}`, namespace: 'standin-system' },
      spec: { replicas: 1, template: { spec: { containers, ...spec } } },
      status: { readyReplicas: 1 },
    },
    pods: [],
    ...more,
  };
};

export const pod = (name: string, isReady: boolean, status: Partial<Pod['status']> = {}): Pod => ({
  metadata: { name },
  spec: { containers: [] },
  status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }], ...status },
});

export const testInstallation = (...components: readonly Component[]): Installation => ({
  namespace: 'standin-system',
  components,
  services: [],
});

/** Returns a client that reads these objects, by the end of their paths, such as `secrets/a`. */
export const reading = (objects: Readonly<Record<string, object>>): KubeClient => {
  const get = (path: string): Promise<object> => {
    const found = Object.entries(objects).find(([end]) => path.endsWith(`/${end}`))?.[1];
    return found === undefined
      ? Promise.reject(new ApiError('not found', { status: 404, reason: 'NotFound', request: path }))
      : Promise.resolve(found);
  };
  return { get } as Partial<KubeClient> as KubeClient;
};
