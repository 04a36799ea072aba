import { ApiError } from '@standin/kube';
import type { Logger } from 'pino';

/** The interval at which a missing permission or CRD is logged while it is missing. */
const REPEAT_MS = 300_000;

/**
 * Returns the `onRefused` of a reflector. It logs a missing permission or CRD in one line that names it, and repeats the line while it
 * is missing. The resource is named as in RBAC, for example `mockprojects.standin.dev`.
 */
export const logRefusals = (logger: Logger, resource: string, namespace: string | undefined) => {
  let logged = { message: '', at: 0 };
  return (error: unknown): void => {
    const now = performance.now();
    if (!(error instanceof ApiError) || (error.message === logged.message && now - logged.at < REPEAT_MS)) return;
    logged = { message: error.message, at: now };
    const where = namespace === undefined ? 'in all namespaces' : `in namespace "${namespace}"`;
    if (error.status === 403) {
      logger.error(
        { resource, namespace, detail: error.message },
        `forbidden: the operator's ServiceAccount needs the verbs "list" and "watch" on ${resource} ${where}; retrying`,
      );
    } else if (error.status === 404) {
      logger.error({ resource, namespace }, `the CRD ${resource} is not installed; retrying`);
    }
  };
};

/** Returns the sentence about the missing permission for a status. */
export const missingRight = (plural: 'ConfigMaps' | 'Services', namespace: string | undefined): string => {
  const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
  return `The operator is not allowed to read ${plural}: its ServiceAccount needs the verbs "list" and "watch" on ${plural.toLowerCase()} ${where}.`;
};
