import type { ObjectVersion } from '@standin/contract';
import { isConflict, isNotFound, objectVersion, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import type { KnownGateway } from './gateway-record.ts';

/**
 * Stores the gateways that are not gone (`GatewayStates.members`). The next leader reads them, because it has to wait for those
 * that have not reconnected yet.
 */
export interface GatewayMemory {
  read(): Promise<readonly KnownGateway[]>;
  write(gateways: readonly KnownGateway[]): Promise<void>;
}

/** A memory that stores nothing, for an operator whose only gateway starts and stops with it, as in `standin dev`. */
export const noGatewayMemory: GatewayMemory = {
  read: () => Promise.resolve([]),
  write: () => Promise.resolve(),
};

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const DATA_KEY = 'gateways';

/** Formats a gateway as `NAME` or `NAME MAX-STALENESS-MS`. Names do not contain spaces. */
const encodeGateway = ({ name, maxStalenessMs }: KnownGateway): string =>
  maxStalenessMs === 0 ? name : `${name} ${maxStalenessMs}`;

const decodeGateway = (line: string): KnownGateway => {
  const [name = '', maxStalenessMs = '0'] = line.split(' ');
  return { name, maxStalenessMs: Number(maxStalenessMs) || 0 };
};

/**
 * Stores one gateway per line, in a ConfigMap in the operator's namespace. Only the leader writes the ConfigMap, by
 * compare-and-swap with the version that it last read or wrote, so a late write by an earlier leader fails. After a conflict,
 * `write` reads the new version and rejects, so that a retry succeeds.
 */
export const gatewayConfigMap = (client: KubeClient, namespace: string, name: string): GatewayMemory => {
  const configMaps = { group: '', version: 'v1', plural: 'configmaps', namespace };
  const path = resourcePath({ ...configMaps, name });
  let version: ObjectVersion | undefined;
  const read = async (): Promise<ConfigMap | undefined> => {
    const configMap = await client.get<ConfigMap>(path).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    version = configMap && objectVersion(configMap);
    return configMap;
  };
  return {
    read: async () => {
      const lines = ((await read())?.data?.[DATA_KEY] ?? '').split('\n').filter((line) => line !== '');
      return lines.map(decodeGateway);
    },
    write: async (gateways) => {
      const data = { [DATA_KEY]: gateways.map(encodeGateway).join('\n') };
      const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data };
      try {
        const written = await (version === undefined
          ? client.create<ConfigMap>(resourcePath(configMaps), configMap)
          : client.replace<ConfigMap>(path, configMap, version));
        version = objectVersion(written);
      } catch (error) {
        if (isConflict(error) || isNotFound(error)) await read();
        throw error;
      }
    },
  };
};
