import { runCommand, type CommandOptions, type CommandResult } from './run-command.ts';

/**
 * Runs the docker command with the engine of DOCKER_HOST. A failed command results in a `code` other than 0. Rejects only if docker
 * is not installed.
 */
export const docker = (args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> =>
  runCommand('docker', args, options);

/** Runs the docker command and returns its output. Throws docker's error output on failure. */
export const dockerOrThrow = async (args: readonly string[], options: CommandOptions = {}): Promise<string> => {
  const { code, stdout, stderr } = await docker(args, options);
  if (code !== 0) {
    throw new Error(`docker ${args[0] ?? ''} ended with ${code}:\n${`${stdout}${stderr}`.trim().slice(-4_000)}`);
  }
  return stdout;
};

/** Returns whether the engine has an image with this name. */
export const hasImage = async (name: string): Promise<boolean> =>
  (await docker(['image', 'inspect', '--format', '{{.Id}}', name])).code === 0;
