import type { Problem } from '@standin/crds';

/** Formats an object's problems on one line. */
export const problemText = (problems: readonly Problem[]): string =>
  problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
