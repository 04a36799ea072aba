import { isConflict, isNotFound, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';

/** Names of the known gateways, kept for the next leader: it has to wait for those that it has not heard of yet. */
export interface GatewayMemory {
  read(): Promise<readonly string[]>;
  write(names: readonly string[]): Promise<void>;
}

/** For an operator that is alone with its gateway: both start together. */
export const noGatewayMemory: GatewayMemory = {
  read: () => Promise.resolve([]),
  write: () => Promise.resolve(),
};

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const DATA_KEY = 'gateways';

/** One name a line in a ConfigMap of the operator's namespace. Only the leader writes it. */
export const gatewayConfigMap = (client: KubeClient, namespace: string, name: string): GatewayMemory => {
  const configMaps = { group: '', version: 'v1', plural: 'configmaps', namespace };
  const path = resourcePath({ ...configMaps, name });
  return {
    read: async () => {
      try {
        const { data } = await client.get<ConfigMap>(path);
        return (data?.[DATA_KEY] ?? '').split('\n').filter((line) => line !== '');
      } catch (error) {
        if (isNotFound(error)) return [];
        throw error;
      }
    },
    write: async (names) => {
      const configMap = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace, name },
        data: { [DATA_KEY]: names.join('\n') },
      };
      try {
        await client.replace(path, configMap);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        await client.create(resourcePath(configMaps), configMap).catch((conflict: unknown) => {
          if (!isConflict(conflict)) throw conflict;
        });
      }
    },
  };
};
