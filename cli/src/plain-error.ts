import { ownMember } from '@standin/contract';

/** An error that the user can fix. It is shown as one line, without a stack. */
export class PlainError extends Error {
  override readonly name = 'PlainError';
  readonly exitCode: number;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? 1;
  }
}

/** Names of errors from other packages whose messages are for users. Loading their classes would slow down every command. */
const FOR_PEOPLE: ReadonlySet<string> = new Set([
  'ApiError',
  'EngineStartError',
  'FolderLockError',
  'LogFilterError',
  'LogStoreError',
  'SettingsError',
  'SourceError',
]);

/** Returns whether the error says that a port is in use. This can happen even if the port was free when it was chosen. */
export const isPortTaken = (error: unknown): error is Error & { readonly port: number } =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' && 'port' in error;

/** Returns the error as a `PlainError`, or undefined for an unexpected error, which is shown with its stack. */
export const asPlainError = (error: unknown): PlainError | undefined => {
  if (error instanceof PlainError) return error;
  if (isPortTaken(error))
    return new PlainError(`port ${error.port} is in use: stop the process that uses it, or choose another port`);
  if (error instanceof Error && error.name === 'ApiError' && 'status' in error && error.status === 401)
    return new PlainError(
      'the Kubernetes API server does not accept the credentials of your kubeconfig (Unauthorized): sign in again, or use another user or context',
      { cause: error },
    );
  return error instanceof Error && FOR_PEOPLE.has(error.name)
    ? new PlainError(error.message, { cause: error })
    : undefined;
};

/** The end of a sentence that begins with the file name. The keys are error codes. */
const FILE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a directory',
  EEXIST: 'is not a directory',
  EACCES: 'cannot be used: permission denied',
  EPERM: 'cannot be used: permission denied',
  EROFS: 'cannot be written: its file system is read-only',
  ENOSPC: 'cannot be written: the disk is full',
};

/** Returns text such as `does not exist` for an error from node:fs. */
export const fileErrorText = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  return ownMember(FILE_ERRORS, code) ?? `cannot be used (${code})`;
};
