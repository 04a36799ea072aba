import { copyFile, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '@standin/process/replace-file';

/**
 * Settings that name a file or an address, contain SQL as text, or change how statements are parsed. With such settings, a
 * statement could reach resources that its text does not show, so these settings keep their defaults.
 * `test/integration/engine-limits.test.ts` compares the list with the engine's own settings.
 */
export const FIXED_SETTINGS: readonly string[] = [
  ...['additional_result_filter', 'additional_table_filters', 'ai_function_embedding_default_credentials'],
  ...['ai_function_text_default_credentials', 'cluster_for_parallel_replicas', 'default_view_definer', 'dialect'],
  ...['distributed_cache_file_cache_name', 'filesystem_cache_name', 'format_avro_schema_registry_url'],
  ...['format_schema', 'format_schema_source', 'format_template_resultset', 'format_template_resultset_format'],
  ...['format_template_row', 'format_template_row_format', 'implicit_table_at_top_level'],
  ...['input_format_record_errors_file_path', 'output_format_schema', 'parallel_replicas_custom_key'],
  ...['polyglot_dialect', 'promql_database', 'promql_table', 'rename_files_after_processing'],
  ...['s3queue_default_zookeeper_path', 'stream_like_engine_insert_queue', 'url_base'],
];

/**
 * The permissions of the engine's only user. They do not include READ and WRITE ON its sources (files, URLs, servers), BACKUP,
 * SYSTEM, functions, dictionaries or users.
 */
const GRANTS = [
  'GRANT SELECT, INSERT, TRUNCATE, OPTIMIZE, SHOW, DROP, CREATE DATABASE, CREATE TABLE, CREATE TEMPORARY TABLE, CREATE VIEW ON *.*',
  'GRANT ALTER UPDATE, ALTER DELETE, ALTER COLUMN, ALTER INDEX, ALTER PROJECTION, ALTER STATISTICS, ALTER CONSTRAINT, ALTER ORDER BY, ALTER TTL, ALTER MATERIALIZE TTL, ALTER SETTINGS, ALTER MODIFY COMMENT, ALTER MOVE PARTITION, ALTER VIEW ON *.*',
];
/** Additional grants if the user gave a configuration file, which may define servers. */
const CLUSTER_GRANTS = ['GRANT READ, WRITE ON REMOTE'];

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * Disables compilation to machine code. Compiling the queries that an open page repeats takes about 30 MiB of memory and does not
 * make counting 1,000,000 rows faster. A statement can enable compilation.
 */
const LAPTOP_QUERY_SETTINGS = `<compile_expressions>0</compile_expressions>
    <compile_aggregate_expressions>0</compile_aggregate_expressions>
    <compile_sort_description>0</compile_sort_description>`;

const usersXml = (grants: readonly string[]): string => `<clickhouse>
  <profiles><default>
    ${LAPTOP_QUERY_SETTINGS}
    <constraints>
${FIXED_SETTINGS.map((name) => `      <${name}><const/></${name}>`).join('\n')}
    </constraints>
  </default></profiles>
  <users><default>
    <password></password>
    <networks><ip>::1</ip><ip>127.0.0.1</ip></networks>
    <profile>default</profile>
    <quota>default</quota>
    <grants>
${grants.map((grant) => `      <query>${grant}</query>`).join('\n')}
    </grants>
  </default></users>
  <quotas><default/></quotas>
</clickhouse>
`;

/**
 * Settings for one user's machine rather than a server: caches of up to 64 MiB instead of 5 GiB, two idle threads instead of
 * 1,000, and less frequent checks of its own memory.
 */
const LAPTOP_SETTINGS = `<max_thread_pool_free_size>2</max_thread_pool_free_size>
  <memory_worker_period_ms>1000</memory_worker_period_ms>
  <mark_cache_size>67108864</mark_cache_size>
  <index_mark_cache_size>67108864</index_mark_cache_size>
  <primary_index_cache_size>67108864</primary_index_cache_size>
  <query_condition_cache_size>16777216</query_condition_cache_size>`;

/**
 * Returns the engine's main configuration file. `remote_url_allow_hosts` has no entries and therefore blocks every URL. The user's
 * own file takes precedence over these settings.
 */
const configXml = (usersFile: string): string => `<clickhouse>
  <users_config>${escapeXml(usersFile)}</users_config>
  <remote_url_allow_hosts></remote_url_allow_hosts>
  ${LAPTOP_SETTINGS}
</clickhouse>
`;

/**
 * Only the current user can read the files. They are replaced atomically, because a running engine reads them for each statement.
 * They need not survive a power failure, because every start writes them.
 */
const SECRET = { mode: 0o600, isDurable: false };

/**
 * Writes the engine's configuration into `directory` and returns the path of its main file. As far as possible, the engine itself
 * refuses what `check-statement.ts` refuses, because that file checks text, while the engine checks when it opens tables and
 * sources.
 *
 * @param ownFile a configuration file from the user who starts the engine, such as one with `remote_servers`
 */
export const writeEngineConfig = async (directory: string, ownFile: string | undefined): Promise<string> => {
  // The engine merges the files in this folder.
  const own = path.join(directory, 'config.d', 'own.xml');
  await mkdir(path.dirname(own), { recursive: true, mode: 0o700 });
  if (ownFile === undefined) await rm(own, { force: true });
  else await copyFile(ownFile, own);
  const users = path.join(directory, 'users.xml');
  await replaceFile(users, usersXml(ownFile === undefined ? GRANTS : [...GRANTS, ...CLUSTER_GRANTS]), SECRET);
  const file = path.join(directory, 'config.xml');
  await replaceFile(file, configXml(users), SECRET);
  return file;
};
