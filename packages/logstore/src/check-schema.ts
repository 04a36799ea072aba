import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LogStoreError } from './log-store-error.ts';
import type { LogStore } from './log-store.ts';
import type { SchemaState } from './schema-state.ts';

export interface CheckSchemaOptions {
  /** Who asks, for the line: `gateway`. */
  readonly process: string;
  /** It brings the tables up to date by itself, before it needs them. */
  readonly migrates: boolean;
  readonly logger: Logger;
  /** Stops asking. */
  readonly signal: AbortSignal;
  /** How often ClickHouse is asked again, while it is away or the tables are older. */
  readonly retryMs?: number;
}

const RETRY_MS = 30_000;
/** ACCESS_DENIED */
const DENIED = '497';

/** What to do, for people who run it; undefined where nothing is. */
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
 * Says at start, in one line, what to do where the log's tables are not those that this version makes, and when that is done. Waits for a
 * ClickHouse that is away. Never fails: whether work is possible, the work itself finds out.
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
