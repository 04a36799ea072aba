import { text } from 'node:stream/consumers';
import { getContainerRuntimeClient, GenericContainer, Wait, type StartedTestContainer } from 'testcontainers';

/** The user id in the images and in the chart's pods. */
export const USER = 65_532;

/**
 * A container with the privileges of a chart pod, which has a read-only root file system, no capabilities, and no way to gain
 * capabilities. Only /tmp, the folders of `withWritableFolders` and writable mounts can be written. It uses the host's network,
 * because the tests' API server listens on the loopback address.
 */
export class RestrictedContainer extends GenericContainer {
  constructor(image: string) {
    super(image);
    this.hostConfig.ReadonlyRootfs = true;
    this.withDroppedCapabilities('ALL').withSecurityOpt('no-new-privileges');
    this.withNetworkMode('host').withWritableFolders('/tmp').withAutoRemove(false);
  }

  /** Mounts empty, writable folders in memory, in place of the chart's emptyDir volumes. */
  withWritableFolders(...folders: readonly string[]): this {
    return this.withTmpFs(
      Object.fromEntries(folders.map((folder) => [folder, `rw,uid=${USER},gid=${USER},mode=0770`])),
    );
  }
}

/** Runs a container, waits until it exits, and returns its output. Throws if the exit code is not 0. */
export const runToEnd = async (container: RestrictedContainer): Promise<string> => {
  const started = await container.withWaitStrategy(Wait.forOneShotStartup()).start();
  try {
    return await text(await started.logs());
  } finally {
    await started.stop({ remove: true });
  }
};

/**
 * Sends SIGTERM, and SIGKILL after the grace period, as the kubelet does. Resolves with the exit code, which is 137 after SIGKILL.
 */
export const terminate = async (container: StartedTestContainer, gracePeriodMs: number): Promise<number> => {
  const { container: client } = await getContainerRuntimeClient();
  const handle = client.getById(container.getId());
  await client.stop(handle, { timeout: gracePeriodMs });
  const { State } = await client.inspect(handle);
  await container.stop({ remove: true });
  return State.ExitCode;
};
