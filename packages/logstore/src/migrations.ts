import { readdir, readFile } from 'node:fs/promises';
import { CLICKHOUSE_NAME, CLICKHOUSE_NAME_RULE, ownMember } from '@standin/contract';

/**
 * A numbered file in `migrations/`, ready to run. Migrations are applied in order, each statement is idempotent, and a released
 * file is never edited.
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

export const macrosOf = ({ database, cluster }: MigrationTarget): Readonly<Record<string, string>> => {
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

export const loadMigrations = async (target: MigrationTarget): Promise<Migration[]> => {
  const macros = macrosOf(target);
  const migrations: Migration[] = [];
  for (const file of (await readdir(directory)).sort()) {
    const match = fileName.exec(file);
    if (!match) throw new Error(`${file} in migrations/ is not named NNN_name.sql or NNN_name.cluster.sql`);
    const [, number = '', name = '', clusterOnly] = match;
    if (clusterOnly !== undefined && target.cluster === undefined) continue;
    const sql = await readFile(new URL(file, directory), 'utf8');
    const statements = splitStatements(expandMacros(withoutComments(sql), macros));
    migrations.push({ number: Number(number), name: `${number}_${name}`, statements });
  }
  return migrations;
};
