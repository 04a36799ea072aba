// client-node has no interface for a logger.

/** A logger that this package can use, such as pino. Messages are constant. Variables are in `fields`. */
export interface KubeLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
