/** The end of a sentence that begins with the file's name, by error code. */
const REFUSALS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a directory',
  EEXIST: 'is not a directory',
  EACCES: 'cannot be used: permission denied',
  EPERM: 'cannot be used: permission denied',
  EROFS: 'cannot be written: its file system is read-only',
  ENOSPC: 'cannot be written: the disk is full',
};

/** `does not exist`, for an error of node:fs. */
export const refusal = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  return REFUSALS[code] ?? `cannot be used (${code})`;
};
