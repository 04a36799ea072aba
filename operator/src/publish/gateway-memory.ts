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

/**
 * One name a line in a ConfigMap of the operator's namespace. Only the leader writes it, by compare-and-swap with what was read last:
 * a write of an earlier leader that comes late is refused. A refused write rejects; repeated, it succeeds.
 */
export const gatewayConfigMap = (client: KubeClient, namespace: string, name: string): GatewayMemory => {
  const configMaps = { group: '', version: 'v1', plural: 'configmaps', namespace };
  const path = resourcePath({ ...configMaps, name });
  let version: string | undefined;
  const read = async (): Promise<ConfigMap | undefined> => {
    const configMap = await client.get<ConfigMap>(path).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    version = configMap?.metadata.resourceVersion;
    return configMap;
  };
  return {
    read: async () => ((await read())?.data?.[DATA_KEY] ?? '').split('\n').filter((line) => line !== ''),
    write: async (names) => {
      const metadata = { namespace, name, ...(version === undefined ? {} : { resourceVersion: version }) };
      const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [DATA_KEY]: names.join('\n') } };
      try {
        const written = await (version === undefined
          ? client.create<ConfigMap>(resourcePath(configMaps), configMap)
          : client.replace<ConfigMap>(path, configMap));
        version = written.metadata.resourceVersion;
      } catch (error) {
        if (isConflict(error) || isNotFound(error)) await read();
        throw error;
      }
    },
  };
};
