/** What this package needs of a logger; a pino logger fits. Constant message, variables as keys. */
export interface KubeLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
