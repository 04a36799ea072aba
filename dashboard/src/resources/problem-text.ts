import type { Problem } from '@standin/crds';

/** The problems of an object in one line. */
export const problemText = (problems: readonly Problem[]): string =>
  problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
