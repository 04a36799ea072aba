import { ApiError, type KubeLogger } from '@standin/kube';
import type { Logger } from 'pino';

/** The interval at which a missing permission or CRD is logged while it is missing. */
const REPEAT_MS = 300_000;

/**
 * Returns a logger that also logs a missing permission or CRD in one line that names it, and repeats the line while it is missing.
 */
export const reflectorLogger = (logger: Logger, resource: string, namespace: string | undefined): KubeLogger => {
  let logged = { message: '', at: 0 };
  const logRefusal = (fields: object): void => {
    const { err } = fields as { err?: unknown };
    const now = performance.now();
    if (!(err instanceof ApiError) || (err.message === logged.message && now - logged.at < REPEAT_MS)) return;
    logged = { message: err.message, at: now };
    const where = namespace === undefined ? 'in all namespaces' : `in namespace "${namespace}"`;
    if (err.status === 403) {
      logger.error(
        { resource, namespace, detail: err.message },
        `forbidden: the operator's ServiceAccount needs the verbs "list" and "watch" on ${resource} ${where}; retrying`,
      );
    } else if (err.status === 404) {
      logger.error({ resource, namespace }, `the CRD ${resource} is not installed; retrying`);
    }
  };
  return {
    debug: (fields, message) => {
      logRefusal(fields);
      logger.debug(fields, message);
    },
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => {
      logRefusal(fields);
      logger.warn(fields, message);
    },
    error: (fields, message) => logger.error(fields, message),
  };
};
