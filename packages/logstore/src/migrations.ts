import { readdir, readFile } from 'node:fs/promises';
import {
  BODY_TEXT_TABLE,
  CLICKHOUSE_NAME,
  CLICKHOUSE_NAME_RULE,
  LOG_TABLE,
  ownMember,
  type Table,
} from '@standin/contract';
import { declareColumns } from './columns.ts';
import { REPLAY_RESULTS_TABLE } from './replay-results-table.ts';

/**
 * The columns of the log with `since: NUMBER`, then the statements of the file in `migrations/` with this number, if there is one.
 * Migrations are applied in order, each statement is idempotent, and a released migration never changes.
 */
export interface Migration {
  readonly number: number;
  /** For example `001_log`. */
  readonly name: string;
  readonly statements: readonly string[];
}

export interface MigrationTarget {
  readonly database: string;
  /**
   * The name of a ClickHouse cluster. If set, tables are replicated and created `ON CLUSTER`, and `log` is a Distributed table over
   * the replicated `log_local`.
   */
  readonly cluster?: string | undefined;
}

const directory = new URL('../migrations/', import.meta.url);
const fileName = /^(\d{3})_([a-z_]+)(\.cluster)?\.sql$/;

const assertIdentifier = (what: string, name: string): void => {
  if (!CLICKHOUSE_NAME.test(name)) throw new Error(`${what} ${JSON.stringify(name)} must be ${CLICKHOUSE_NAME_RULE}`);
};

export const migrationMacros = ({ database, cluster }: MigrationTarget): Readonly<Record<string, string>> => {
  assertIdentifier('the database', database);
  if (cluster === undefined) {
    return {
      database,
      database_name: database,
      cluster: '',
      on_cluster: '',
      engine: 'ReplacingMergeTree',
      replica_path: '',
      replica_everywhere_path: '',
      log_local: 'log',
    };
  }
  assertIdentifier('the cluster', cluster);
  const root = `/clickhouse/tables/${database}`;
  return {
    database,
    database_name: database,
    cluster,
    on_cluster: `ON CLUSTER ${cluster}`,
    engine: 'ReplicatedReplacingMergeTree',
    // {shard} and {replica} are macros in the server's own configuration.
    replica_path: `'${root}/{table}/{shard}', '{replica}', `,
    // One replicated table for the whole cluster, so that every node has all rows.
    replica_everywhere_path: `'${root}/{table}', '{shard}-{replica}', `,
    log_local: 'log_local',
  };
};

/** Replaces each `@name@`. An unknown macro is an error. */
export const expandMacros = (sql: string, macros: Readonly<Record<string, string>>): string =>
  sql.replace(/@([a-z_]+)@/g, (whole, name: string) => {
    const value = ownMember(macros, name);
    if (value === undefined) throw new Error(`unknown macro ${whole} in a migration`);
    return value;
  });

const withoutComments = (sql: string): string => sql.replace(/^\s*--.*$/gm, '');

const splitStatements = (sql: string): string[] =>
  sql
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');

const list = (declarations: readonly string[]): string => declarations.join(',\n    ');

/** The columns that the tables are created with. */
const COLUMN_MACROS = {
  log_columns: list(declareColumns(LOG_TABLE, { since: undefined })),
  body_text_columns: list(declareColumns(BODY_TEXT_TABLE, { since: undefined })),
  replay_results_columns: list(declareColumns(REPLAY_RESULTS_TABLE, { since: undefined })),
};

/** Returns the statements that add columns to the log. In a cluster, the table for all reads and writes gets them, too. */
const addColumns = (table: Table, since: number, { cluster }: MigrationTarget): readonly string[] => {
  const add = (name: string, codecs: boolean): string => {
    const columns = declareColumns(table, { since, codecs }).map((column) => `ADD COLUMN IF NOT EXISTS ${column}`);
    return `ALTER TABLE @database@.${name} @on_cluster@\n    ${list(columns)}`;
  };
  return [add('@log_local@', true), ...(cluster === undefined ? [] : [add('log', false)])];
};

/** @param log the columns of the log, which tests replace with those of a later version */
export const loadMigrations = async (target: MigrationTarget, log: Table = LOG_TABLE): Promise<Migration[]> => {
  const macros = { ...migrationMacros(target), ...COLUMN_MACROS };
  const migrations = new Map<number, Migration>();
  for (const number of new Set(Object.values(log).flatMap(({ since }) => since ?? []))) {
    const statements = addColumns(log, number, target).map((sql) => expandMacros(sql, macros));
    migrations.set(number, { number, name: `${String(number).padStart(3, '0')}_log_columns`, statements });
  }
  for (const file of await readdir(directory)) {
    const match = fileName.exec(file);
    if (!match) throw new Error(`${file} in migrations/ is not named NNN_name.sql or NNN_name.cluster.sql`);
    const [, digits = '', name = '', clusterOnly] = match;
    if (clusterOnly !== undefined && target.cluster === undefined) continue;
    const number = Number(digits);
    const sql = await readFile(new URL(file, directory), 'utf8');
    const statements = splitStatements(expandMacros(withoutComments(sql), macros));
    const added = migrations.get(number)?.statements ?? [];
    migrations.set(number, { number, name: `${digits}_${name}`, statements: [...added, ...statements] });
  }
  return [...migrations.values()].sort((left, right) => left.number - right.number);
};
