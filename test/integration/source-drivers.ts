import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { GROUP_VERSION, RESOURCES, type ObjectRef, type ResourceSource } from '@standin/contract';
import { resourcePath } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { directorySource, identifiedSource, identitySecrets, kubernetesSource } from '@standin/operator';
import pino from 'pino';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE, installStandin } from '../harness/install-standin.ts';

export const logger = pino({ level: 'silent' });

const IDENTITY_POLL_MS = 500;

/** An object as a user writes it. */
export interface Manifest extends ObjectRef {
  readonly spec: object;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A source, and functions that act on it like its users and its environment. */
export interface SourceDriver {
  /** A source with the operator's permissions. */
  readonly source: ResourceSource;
  /** A source with the permissions of a user who can change objects. */
  readonly editor: ResourceSource;
  readonly namespaces: readonly [string, string];
  /** Writes manifests, as with kubectl or an editor. */
  write(manifests: readonly Manifest[]): Promise<void>;
  remove(ref: ObjectRef): Promise<void>;
  /** Writes a Secret that a user provides. */
  writeSecret(
    namespace: string,
    name: string,
    data: Readonly<Record<string, Buffer>>,
    metadata?: { readonly labels?: Record<string, string>; readonly annotations?: Record<string, string> },
  ): Promise<void>;
  /** Writes a ConfigMap that a user provides. */
  writeConfigMap(configMap: ConfigMapManifest): Promise<void>;
  removeConfigMap(configMap: ConfigMapManifest): Promise<void>;
  /** Makes the source's input unavailable for a time, and applies these changes during that time or directly after it. */
  outage(meanwhile: { write: readonly Manifest[]; remove: readonly ObjectRef[] }): Promise<void>;
  /** Removes the objects of the previous test and opens a new source. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

const toObject = ({ kind, namespace, name, labels, spec }: Manifest) => ({
  apiVersion: GROUP_VERSION,
  kind,
  metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
  spec,
});

const secretManifest = (...[namespace, name, data, metadata]: Parameters<SourceDriver['writeSecret']>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace, ...metadata },
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, value.toString('base64')])),
});

interface ConfigMapManifest {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, string>>;
}

const configMapManifest = ({ data, ...metadata }: ConfigMapManifest): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });

/** Creates a driver for a directory with one file per object. */
export const directoryDriver = async (): Promise<SourceDriver> => {
  const root = await mkdtemp(path.join(tmpdir(), 'standin-source-'));
  const dir = path.join(root, 'manifests');
  let generation = 0;
  const objectFile = (folder: string, { kind, namespace, name }: ObjectRef) =>
    path.join(folder, `${kind.toLowerCase()}-${namespace}-${name}.json`);
  const write = async (folder: string, manifests: readonly Manifest[]) => {
    for (const manifest of manifests) await writeFile(objectFile(folder, manifest), JSON.stringify(toObject(manifest)));
  };
  const open = () => directorySource({ dir, dataDir: path.join(root, `data-${generation}`), logger });
  await mkdir(dir);
  let source = open();
  return {
    get source() {
      return source;
    },
    get editor() {
      return source;
    },
    namespaces: ['default', 'other'],
    write: (manifests) => write(dir, manifests),
    remove: (ref) => rm(objectFile(dir, ref)),
    writeSecret: (...secret) =>
      writeFile(path.join(dir, `secret-${secret[1]}.json`), JSON.stringify(secretManifest(...secret))),
    writeConfigMap: (configMap) =>
      writeFile(path.join(dir, `configmap-${configMap.name}.json`), configMapManifest(configMap)),
    removeConfigMap: ({ name }) => rm(path.join(dir, `configmap-${name}.json`)),
    outage: async ({ write: changed, remove }) => {
      const hidden = path.join(root, 'hidden');
      await rename(dir, hidden);
      await write(hidden, changed);
      for (const ref of remove) await rm(objectFile(hidden, ref));
      await new Promise((resolve) => setTimeout(resolve, 500));
      await rename(hidden, dir);
    },
    reset: async () => {
      await rm(dir, { recursive: true });
      await mkdir(dir);
      generation += 1;
      source = open();
    },
    // A source that was stopped may still finish a write.
    close: () => rm(root, { recursive: true, maxRetries: 10 }),
  };
};

/** Creates a driver for a real API server with the operator's real permissions. */
export const kubernetesDriver = async (): Promise<SourceDriver & { readonly cluster: OwnCluster }> => {
  const cluster = await startCluster();
  await installStandin(cluster);
  const operator = await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT);
  const operatorClient = loadKubeClient({ kubeconfigPath: operator });
  const adminClient = loadKubeClient({
    kubeconfigPath: cluster.kubeconfigPath,
    writeRate: { qps: 1_000, burst: 1_000 },
  });
  const namespaces = ['default', 'other'] as const;
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } }));
  const editor = kubernetesSource({ client: adminClient, namespaces: [], logger });
  const collection = (plural: string, namespace: string) =>
    resourcePath({ group: 'standin.dev', version: 'v1alpha1', plural, namespace });
  const write = async (manifests: readonly Manifest[]) => {
    await Promise.all(manifests.map((manifest) => editor.objects.apply(toObject(manifest))));
  };
  const open = () =>
    identifiedSource({
      logger,
      pollMs: IDENTITY_POLL_MS,
      source: kubernetesSource({ client: operatorClient, namespaces: [], logger }),
      store: identitySecrets(operatorClient, SYSTEM_NAMESPACE),
    });
  let source = open();
  return {
    cluster,
    get source() {
      return source;
    },
    editor,
    namespaces,
    write,
    remove: (ref) => editor.objects.delete(ref),
    writeSecret: (...secret) => cluster.apply(JSON.stringify(secretManifest(...secret))),
    writeConfigMap: (configMap) => cluster.apply(configMapManifest(configMap)),
    removeConfigMap: async ({ namespace, name }) => {
      await cluster.kubectl(['delete', 'configmap', name, '-n', namespace]);
    },
    outage: async ({ write: changed, remove }) => {
      await cluster.stopApiServer('SIGKILL');
      await cluster.startApiServer();
      // The operator receives these changes only after it has reconnected, which may be before or after the write.
      await write(changed);
      for (const ref of remove) await editor.objects.delete(ref);
    },
    reset: async () => {
      for (const namespace of namespaces) {
        for (const { plural } of [RESOURCES.Account, RESOURCES.Replay]) {
          await adminClient.request({ method: 'DELETE', path: collection(plural, namespace) });
        }
        await cluster.kubectl(['delete', 'secret', 'standin-identities', '-n', namespace, '--ignore-not-found']);
      }
      source = open();
    },
    close: async () => {
      await operatorClient.close();
      await adminClient.close();
      await cluster.stop();
    },
  };
};
