import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LogStoreError } from './log-store-error.ts';
import type { LogStore } from './log-store.ts';
import type { SchemaState } from './schema-state.ts';

export interface CheckSchemaOptions {
  /** The name of the process, for the log line: `gateway`. */
  readonly process: string;
  /** The process brings the tables up to date itself before it needs them. */
  readonly migrates: boolean;
  readonly logger: Logger;
  /** Stops the check. */
  readonly signal: AbortSignal;
  /** How often the check runs again while ClickHouse is unavailable or the tables are older. */
  readonly retryMs?: number;
}

const RETRY_MS = 30_000;
/** ACCESS_DENIED */
const DENIED = '497';

/** What an administrator must do. Undefined: nothing. */
const lineOf = (state: SchemaState, { process, migrates }: CheckSchemaOptions): string | undefined => {
  const remedy =
    'gateways and operator make them where clickhouse.migrate is true, `docs/upgrade.md` says who else; this process waits for that and works on as far as it can';
  switch (state.kind) {
    case 'current':
      return undefined;
    case 'newer':
      return `the log’s tables were made by a newer version than this ${process}: it works with them, and does not know what was added; upgrade it`;
    case 'missing':
      return migrates ? undefined : `the log has no tables yet: ${remedy}`;
    case 'older':
      return migrates ? undefined : `the log’s tables are older than this ${process}: ${remedy}`;
  }
};

/**
 * Compares the log's tables with those of this version at start. Logs one line that says what to do if they differ, and another
 * when they are up to date. Waits while ClickHouse is unavailable. Never fails: the work itself fails if it is not possible.
 */
export const checkSchema = async (store: Pick<LogStore, 'schema'>, options: CheckSchemaOptions): Promise<void> => {
  const { migrates, logger, signal, retryMs = RETRY_MS } = options;
  let said: string | undefined;
  while (!signal.aborted) {
    try {
      const state = await store.schema();
      const line = lineOf(state, options);
      if (line !== undefined && line !== said) logger.warn({ schema: state }, line);
      if (line === undefined && said !== undefined) logger.info('the log’s tables are up to date now');
      said = line;
      if (line === undefined || migrates || state.kind === 'newer') return;
    } catch (error) {
      if (error instanceof LogStoreError && error.code === DENIED) {
        const message =
          'the log’s tables cannot be compared with those of this version: the user needs SELECT on the table migrations';
        logger.warn({ reason: error.message }, message);
        return;
      }
      logger.debug({ err: error }, 'the log’s tables cannot be compared now, trying again');
    }
    await delay(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
};
