import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** Returns whether programs of this process can open windows. */
export const hasDisplay = (): boolean =>
  process.platform === 'darwin' || [process.env['DISPLAY'], process.env['WAYLAND_DISPLAY']].some(Boolean);

/** Returns the folder for the CLI's state between runs (XDG Base Directory Specification), which may not exist yet. */
export const stateFolder = (): string => {
  const named = process.env['XDG_STATE_HOME'] ?? '';
  return path.join(path.isAbsolute(named) ? named : path.join(homedir(), '.local/state'), 'standin');
};

/** Returns the environment of a program that this process starts: its own, with more variables. */
export const environmentWith = (variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...process.env,
  ...variables,
});
