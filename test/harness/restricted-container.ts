import { text } from 'node:stream/consumers';
import { getContainerRuntimeClient, GenericContainer, Wait, type StartedTestContainer } from 'testcontainers';

/** As Linux has it in /etc/passwd of our images, and as the chart's pods say. */
export const USER = 65_532;

/**
 * A container with no more rights than a pod of the chart: a read-only root, no capability, no way to gain one; /tmp and what a test mounts
 * can be written. On the host's network, since the API server of the tests is on its loopback address.
 */
export class RestrictedContainer extends GenericContainer {
  constructor(image: string) {
    super(image);
    this.hostConfig.ReadonlyRootfs = true;
    this.withDroppedCapabilities('ALL').withSecurityOpt('no-new-privileges');
    this.withNetworkMode('host').withWritableFolders('/tmp').withAutoRemove(false);
  }

  /** Empty ones in memory, as an emptyDir is. */
  withWritableFolders(...folders: readonly string[]): this {
    return this.withTmpFs(
      Object.fromEntries(folders.map((folder) => [folder, `rw,uid=${USER},gid=${USER},mode=0770`])),
    );
  }
}

/** Runs a command of an image to its end; what it printed. Throws where it ends with another code than 0. */
export const runToEnd = async (container: RestrictedContainer): Promise<string> => {
  const started = await container.withWaitStrategy(Wait.forOneShotStartup()).start();
  try {
    return await text(await started.logs());
  } finally {
    await started.stop({ remove: true });
  }
};

/** Sends SIGTERM as a kubelet does, and SIGKILL after the grace period. Resolves with the exit code; 137 after SIGKILL. */
export const terminate = async (container: StartedTestContainer, gracePeriodMs: number): Promise<number> => {
  const { container: client } = await getContainerRuntimeClient();
  const handle = client.getById(container.getId());
  await client.stop(handle, { timeout: gracePeriodMs });
  const { State } = await client.inspect(handle);
  await container.stop({ remove: true });
  return State.ExitCode;
};
