import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isConflict, resourcePath, type KubeClient, type KubeList, type KubeObject } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { KUBECONFIG, VOLUME_FOLDER } from './layout.ts';

interface Claim extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly namespace: string; readonly uid: string };
  readonly spec: {
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
    readonly storageClassName?: string;
  };
  readonly status?: { readonly phase?: string };
}

const POLL_MS = 300;
const CLAIMS = resourcePath({ group: '', version: 'v1', plural: 'persistentvolumeclaims' });
const VOLUMES = resourcePath({ group: '', version: 'v1', plural: 'persistentvolumes' });

/**
 * Starts a minimal storage provisioner, which creates a volume for each pending claim. A volume is a folder of the node. Returns a
 * function that stops the provisioner.
 */
export const provideVolumes = (): (() => Promise<void>) => {
  const client = loadKubeClient({ kubeconfigPath: KUBECONFIG });
  const stop = new AbortController();
  const work = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      // The API server may be unavailable. The next round tries again.
      await provideOnce(client, stop.signal).catch(() => undefined);
      await delay(POLL_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  };
  const worked = work();
  return async () => {
    stop.abort();
    await worked;
    await client.close();
  };
};

const provideOnce = async (client: KubeClient, signal: AbortSignal): Promise<void> => {
  const { items } = await client.get<KubeList<Claim>>(CLAIMS, { signal, once: true });
  for (const claim of items ?? []) {
    if (claim.status?.phase !== 'Pending') continue;
    const folder = path.join(VOLUME_FOLDER, claim.metadata.uid);
    await mkdir(folder, { recursive: true });
    // The kubelet does not change the owner of a hostPath, and pods run as different users.
    await chmod(folder, 0o777);
    await client.create(VOLUMES, volumeFor(claim, folder), { signal, once: true }).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
  }
};

const volumeFor = ({ metadata, spec }: Claim, folder: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: `volume-${metadata.uid}` },
  spec: {
    capacity: spec.resources.requests,
    accessModes: spec.accessModes,
    storageClassName: spec.storageClassName ?? '',
    persistentVolumeReclaimPolicy: 'Retain',
    hostPath: { path: folder, type: 'Directory' },
    claimRef: { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
  },
});
