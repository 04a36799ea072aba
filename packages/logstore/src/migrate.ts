import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseSettings } from '@clickhouse/client';
import type { Logger } from 'pino';
import type { ClickHouse } from './clickhouse.ts';
import { LogStoreError } from './log-store-error.ts';
import { expandMacros, loadMigrations, migrationMacros } from './migrations.ts';
import type { Migration, MigrationTarget } from './migrations.ts';
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

const TABLES = ['migrations', 'log', 'log_local', 'replay_results', 'purged_permits'] as const;

/** Reads `system.tables` or `system.one` of all nodes of the cluster that respond. */
const onAllNodes = (table: 'tables' | 'one'): string => `clusterAllReplicas({cluster:String}, system, ${table})`;
const LOG_TABLES = `${onAllNodes('tables')} WHERE database = {database:String} AND name IN {tables:Array(String)}`;
const RESPONDING: ClickHouseSettings = { skip_unavailable_shards: 1 };

/** Returns whether all nodes of the cluster that respond have the tables. A node that was added later has none. */
const everyNodeHasTables = async (clickhouse: ClickHouse, { database, cluster }: MigrationTarget): Promise<boolean> => {
  const sql = `SELECT (SELECT count() FROM ${LOG_TABLES}) >= (SELECT count() FROM ${onAllNodes('one')}) * ${TABLES.length} FORMAT RowBinary`;
  const params = { cluster, database, tables: [...TABLES] };
  const answer = await clickhouse.run('look for nodes without tables', {
    sql,
    params,
    settings: RESPONDING,
    inDatabase: false,
  });
  return decodeAll(answer, (reader) => reader.uint8())[0] === 1;
};

/** Returns statements that create the tables on all nodes, as they are on the nodes that have them. */
const readDefinitions = async (clickhouse: ClickHouse, { database, cluster }: MigrationTarget): Promise<string[]> => {
  const sql = `SELECT any(create_table_query) FROM ${LOG_TABLES} GROUP BY name FORMAT RowBinary`;
  const params = { cluster, database, tables: [...TABLES] };
  const answer = await clickhouse.run('read the definitions of the tables', {
    sql,
    params,
    settings: RESPONDING,
    inDatabase: false,
  });
  return decodeAll(answer, (reader) => reader.text()).map((definition) =>
    definition.replace(/^CREATE TABLE (\S+)/, `CREATE TABLE IF NOT EXISTS $1 ON CLUSTER ${cluster}`),
  );
};

/**
 * Creates the tables on nodes that were added to the cluster. The applied migrations alone cannot do that: the first one creates a
 * table without the columns of later ones, and ClickHouse refuses a replica with other columns (INCOMPATIBLE_COLUMNS). A failure is only
 * logged, because the nodes that have the tables suffice for deliveries, which wait for the migrations.
 */
const createOnAddedNodes = async (
  clickhouse: ClickHouse,
  {
    applied,
    logger,
    ...target
  }: MigrationTarget & { readonly applied: readonly Migration[]; readonly logger: Logger | undefined },
): Promise<void> => {
  try {
    if (await everyNodeHasTables(clickhouse, target)) return;
    const settings = onClusterSettings(target);
    const createDatabase = expandMacros(CREATE_DATABASE, migrationMacros(target));
    const definitions = await readDefinitions(clickhouse, target);
    if (definitions.length === 0) return;
    for (const sql of [createDatabase, ...definitions, ...applied.flatMap(({ statements }) => statements)])
      await clickhouse.run('create the tables on added nodes', { sql, settings, inDatabase: false });
  } catch (error) {
    if (!(error instanceof LogStoreError)) throw error;
    logger?.warn({ err: error }, 'could not create the log tables on all nodes of the cluster');
  }
};

/**
 * Creates the database and brings its tables up to date. Any number of processes can call this at once and at every start,
 * because statements are idempotent and migrations from a newer version are kept. In a cluster, each statement waits for all
 * replicas, so none is run without need.
 */
export const migrate = async (clickhouse: ClickHouse, target: MigrationTarget, logger?: Logger): Promise<void> => {
  const macros = migrationMacros(target);
  const settings = onClusterSettings(target);
  const migrations = await loadMigrations(target);
  await withRetries(async () => {
    const state = await readSchemaState(clickhouse, target);
    if (target.cluster !== undefined) {
      // The tables are also missing if this node was added.
      const pending = state.kind === 'older' ? state.pending : [];
      const applied = state.kind === 'missing' ? [] : migrations.filter(({ name }) => !pending.includes(name));
      await createOnAddedNodes(clickhouse, { ...target, applied, logger });
    }
    if (state.kind === 'current' || state.kind === 'newer') return;
    for (const sql of [CREATE_DATABASE, CREATE_MIGRATIONS]) {
      await clickhouse.run('create the database', { sql: expandMacros(sql, macros), settings, inDatabase: false });
    }
    const done = await appliedMigrations(clickhouse);
    for (const { number, name, statements } of migrations) {
      if (done.has(number)) continue;
      for (const sql of statements) await clickhouse.run(`apply the migration ${name}`, { sql, settings });
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
  const macros = migrationMacros(target);
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
