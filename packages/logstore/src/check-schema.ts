import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LogStoreError } from './log-store-error.ts';
import type { LogStore } from './log-store.ts';
import type { SchemaState } from './schema-state.ts';

export interface CheckSchemaOptions {
  /** The name of the process for the log line, such as `gateway`. */
  readonly process: string;
  /** Whether the process itself brings the tables up to date before it needs them. */
  readonly migrates: boolean;
  readonly logger: Logger;
  /** Stops the check. */
  readonly signal: AbortSignal;
  /** How long to wait before another check while ClickHouse is unavailable, or the tables are outdated or missing. */
  readonly retryMs?: number;
}

const RETRY_MS = 30_000;
/** The ClickHouse error code ACCESS_DENIED. */
const DENIED = '497';

const REMEDY =
  'the gateways and the operator create them if clickhouse.migrate is true (otherwise, see docs/guides/upgrade.md); this process keeps working as far as possible';

/** Returns the log line about the tables, with what an administrator must do, or undefined if nothing is wrong. */
const schemaProblem = (
  state: SchemaState,
  { process, migrates }: CheckSchemaOptions,
): { readonly message: string; readonly reason: string } | undefined => {
  switch (state.kind) {
    case 'current':
      return undefined;
    case 'newer':
      return {
        message: 'log tables newer than this version',
        reason: `upgrade this ${process}; it works with these tables, but does not use new columns`,
      };
    case 'missing':
      return migrates ? undefined : { message: 'log tables missing', reason: REMEDY };
    case 'older':
      return migrates ? undefined : { message: 'log tables older than this version', reason: REMEDY };
  }
};

/**
 * Compares the log tables with those that this version expects, at startup. Logs one line for each problem, with what to do, and
 * another line when the tables are up to date. Repeats the check until the tables are up to date or newer, or until ClickHouse
 * denies access to them. With `migrates`, the first check that ClickHouse answers is the last, and logs only that the tables are
 * newer. Never rejects, because the work that needs the tables reports its own errors.
 */
export const checkSchema = async (store: Pick<LogStore, 'schema'>, options: CheckSchemaOptions): Promise<void> => {
  const { migrates, logger, signal, retryMs = RETRY_MS } = options;
  let reported: string | undefined;
  while (!signal.aborted) {
    try {
      const state = await store.schema();
      const problem = schemaProblem(state, options);
      if (problem !== undefined && problem.message !== reported)
        logger.warn({ schema: state, reason: problem.reason }, problem.message);
      if (problem === undefined && reported !== undefined) logger.info('log tables up to date');
      reported = problem?.message;
      if (problem === undefined || migrates || state.kind === 'newer') return;
    } catch (error) {
      if (error instanceof LogStoreError && error.code === DENIED) {
        logger.warn(
          { reason: error.message },
          'could not check the log tables, the user needs SELECT on the migrations table',
        );
        return;
      }
      logger.debug({ err: error }, 'could not check the log tables, retrying');
    }
    await delay(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
};
