import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseSettings } from '@clickhouse/client';
import type { Logger } from 'pino';
import type { ClickHouse } from './clickhouse.ts';
import { LogStoreError } from './log-store-error.ts';
import { expandMacros, loadMigrations, macrosOf } from './migrations.ts';
import type { MigrationTarget } from './migrations.ts';
import { decodeAll } from './run-query.ts';
import { appliedMigrations, readSchemaState } from './schema-state.ts';

const CREATE_DATABASE = 'CREATE DATABASE IF NOT EXISTS @database@ @on_cluster@';
const CREATE_MIGRATIONS = `
  CREATE TABLE IF NOT EXISTS @database@.migrations @on_cluster@
  (number UInt32, name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'))
  ENGINE = @engine@(@replica_everywhere_path@applied_at) ORDER BY number`;

/**
 * `IF NOT EXISTS` is not atomic in ClickHouse. If two processes create the same table at once, one of them may get an error that
 * the table, its folder or its replica already exists. If two processes alter a replicated table, one of them may get an error that
 * its metadata is not up to date. A later attempt succeeds.
 */
const RACE_CODES: ReadonlySet<string> = new Set(['57', '82', '84', '253', '76', '341', '517']);
const ATTEMPTS_MAX = 5;
const RETRY_DELAY_MS = 200;

const withRetries = async (task: () => Promise<void>): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await task();
      return;
    } catch (error) {
      const race = error instanceof LogStoreError && RACE_CODES.has(error.code);
      if (!race || attempt === ATTEMPTS_MAX) throw error;
      await delay(RETRY_DELAY_MS * attempt * (0.5 + Math.random()));
    }
  }
};

/**
 * The settings for a statement with ON CLUSTER, which waits for every replica. A replica that is down runs it when it is back. By
 * default, the statement would wait for that replica longer than the client waits for the statement, and fail each time.
 */
export const onClusterSettings = ({ cluster }: MigrationTarget): ClickHouseSettings =>
  cluster === undefined
    ? {}
    : { distributed_ddl_task_timeout: '15', distributed_ddl_output_mode: 'null_status_on_timeout' };

const TABLES = ['log', 'log_local', 'replay_results', 'purged_permits'] as const;

/**
 * Returns whether all nodes of the cluster that respond have the tables. A node that was added later has none, although the
 * migrations are recorded as applied.
 */
const everyNodeHasTables = async (clickhouse: ClickHouse, { database, cluster }: MigrationTarget): Promise<boolean> => {
  const everywhere = (table: string): string => `clusterAllReplicas({cluster:String}, system, ${table})`;
  const sql = `SELECT (SELECT count() FROM ${everywhere('tables')} WHERE database = {database:String} AND name IN {tables:Array(String)})
    >= (SELECT count() FROM ${everywhere('one')}) * ${TABLES.length} FORMAT RowBinary`;
  const params = { cluster, database, tables: [...TABLES] };
  const settings: ClickHouseSettings = { skip_unavailable_shards: 1 };
  const answer = await clickhouse.run('look for nodes without tables', { sql, params, settings });
  return decodeAll(answer, (reader) => reader.uint8())[0] === 1;
};

/** Returns whether nothing needs to be done. In a cluster, each statement waits for all replicas, so none is run without need. */
const isUpToDate = async (clickhouse: ClickHouse, target: MigrationTarget): Promise<boolean> => {
  const { kind } = await readSchemaState(clickhouse, target);
  if (kind !== 'current' && kind !== 'newer') return false;
  if (target.cluster === undefined) return true;
  return everyNodeHasTables(clickhouse, target).catch((error: unknown) => {
    // The user may lack the permission to ask. All statements can be repeated.
    if (error instanceof LogStoreError) return false;
    throw error;
  });
};

/**
 * Creates the database and brings its tables up to date. Any number of processes can call this at once and at every start,
 * because statements are idempotent and migrations from a newer version are kept.
 */
export const migrate = async (clickhouse: ClickHouse, target: MigrationTarget, logger?: Logger): Promise<void> => {
  const macros = macrosOf(target);
  const settings = onClusterSettings(target);
  const migrations = await loadMigrations(target);
  await withRetries(async () => {
    if (await isUpToDate(clickhouse, target)) return;
    for (const sql of [CREATE_DATABASE, CREATE_MIGRATIONS]) {
      await clickhouse.run('create the database', { sql: expandMacros(sql, macros), settings, inDatabase: false });
    }
    const done = await appliedMigrations(clickhouse);
    const lacksTables = migrations.every(({ number }) => done.has(number));
    for (const { number, name, statements } of migrations) {
      if (done.has(number) && !lacksTables) continue;
      for (const sql of statements) await clickhouse.run(`apply the migration ${name}`, { sql, settings });
      if (done.has(number)) continue;
      await clickhouse.run(`record the migration ${name}`, {
        sql: 'INSERT INTO migrations (number, name) SELECT {number:UInt32}, {name:String}',
        params: { number, name },
      });
      logger?.info({ migration: name, database: target.database }, 'migration applied');
    }
  });
};

/**
 * Returns, as one string, the statements that `migrate` runs on an empty server. Administrators run them manually (`clickhouse-client
 * --multiquery`). All statements can be repeated.
 */
export const migrationScript = async (target: MigrationTarget): Promise<string> => {
  const macros = macrosOf(target);
  const inDatabase = `USE ${target.database}`;
  const migrations = await loadMigrations(target);
  const statements = [
    ...[CREATE_DATABASE, CREATE_MIGRATIONS].map((sql) => expandMacros(sql, macros).trim()),
    inDatabase,
    ...migrations.flatMap(({ number, name, statements: own }) => [
      ...own,
      `INSERT INTO migrations (number, name) SELECT ${number}, '${name}'`,
    ]),
  ];
  return statements.map((statement) => `${statement};\n`).join('\n');
};
