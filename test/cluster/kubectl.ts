import { buildGoProgram, type Progress } from './go-program.ts';
import { runCommand } from './run-command.ts';

/** `kubectl create token`, `--as`, `wait --for=jsonpath` and category listing all work from here on. */
const KUBECTL_MINOR_MIN = 27;

/** The machine's kubectl where it is recent enough, else one that is built like the cluster. */
export const findKubectl = async (onProgress: Progress): Promise<string> => {
  const version = await runCommand('kubectl', ['version', '--client', '-o', 'json']).catch(() => undefined);
  const minor = /"minor":\s*"(\d+)/.exec(version?.stdout ?? '')?.[1];
  if (minor !== undefined && Number(minor) >= KUBECTL_MINOR_MIN) return 'kubectl';
  return buildGoProgram('kubectl', onProgress);
};
