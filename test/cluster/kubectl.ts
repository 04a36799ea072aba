import { buildGoProgram, type Progress } from './go-program.ts';
import { runCommand } from './run-command.ts';

/** The minor version of the oldest kubectl in which `create token`, `--as`, `wait --for=jsonpath` and category listing all work. */
const KUBECTL_MINOR_MIN = 27;

/** Returns the machine's kubectl if it is recent enough. Otherwise, builds kubectl in the same way as the cluster program. */
export const findKubectl = async (onProgress: Progress): Promise<string> => {
  const version = await runCommand('kubectl', ['version', '--client', '-o', 'json']).catch(() => undefined);
  const minor = /"minor":\s*"(\d+)/.exec(version?.stdout ?? '')?.[1];
  if (minor !== undefined && Number(minor) >= KUBECTL_MINOR_MIN) return 'kubectl';
  return buildGoProgram('kubectl', onProgress);
};
