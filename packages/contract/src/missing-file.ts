/** Whether a call of `node:fs` failed because the file or its folder does not exist. */
export const isMissingFile = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';
