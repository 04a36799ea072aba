import { readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEngine, type Engine } from '../../packages/engine/src/engine.ts';
import { FIXED_SETTINGS } from '../../packages/engine/src/engine-config.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/**
 * Tests the second of two layers of protection: the engine itself rejects forbidden statements, even if they pass the HTTP front,
 * which is the first layer. test/torture/41-engine-front.test.ts tests both layers.
 */

let folder: string;
let secret: string;
let engine: Engine;

beforeAll(async () => {
  folder = await createTempFolder('engine-limits');
  secret = path.join(folder, 'secret');
  await writeFile(secret, 'never-to-be-seen\n');
  engine = await openEngine(path.join(folder, 'data'));
  await run('CREATE DATABASE d');
  await run('CREATE TABLE d.t (a String) ENGINE = MergeTree ORDER BY a');
});
afterAll(async () => {
  engine.close();
  await rm(folder, { recursive: true });
});

/** Runs a query without the front. */
const run = async (query: string): Promise<string> => {
  const statement = { query, database: undefined, settings: [], params: [], readOnly: false };
  return Buffer.from((await engine.run('other', statement, 'TSVRaw')).bytes).toString('utf8');
};

describe('without the front, the engine rejects', () => {
  test.for([
    ['a file by name', (file: string) => `SELECT * FROM '${file}'`],
    ['a file', (file: string) => `SELECT * FROM file('${file}', LineAsString)`],
    ['a file behind a URL', (file: string) => `SELECT * FROM url('file://${file}', LineAsString)`],
    ['a URL', () => "SELECT * FROM url('http://127.0.0.1:1/', LineAsString)"],
    ['a bucket', () => "SELECT * FROM s3('http://127.0.0.1:1/bucket/key', LineAsString)"],
    ['another server', () => "SELECT * FROM remote('127.0.0.1:1', system.one)"],
    ['MySQL', () => "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')"],
    ['SQLite', (file: string) => `SELECT * FROM sqlite('${file}', 't')`],
    ['a write to a file', (file: string) => `INSERT INTO FUNCTION file('${file}.out', TSV, 'a String') SELECT 'x'`],
    ['a table in a file', (file: string) => `CREATE TABLE d.f (a String) ENGINE = File(TSV, '${file}.out')`],
    ['a table behind a URL', () => "CREATE TABLE d.u (a String) ENGINE = URL('http://127.0.0.1:1/', TSV)"],
    ['a database of files', (file: string) => `CREATE DATABASE f ENGINE = Filesystem('${path.dirname(file)}')`],
    ['a backup', (file: string) => `BACKUP TABLE d.t TO File('${file}.out')`],
    [
      'a dictionary',
      () =>
        "CREATE DICTIONARY d.x (a String) PRIMARY KEY a SOURCE(EXECUTABLE(command 'id' format TSV)) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)",
    ],
    ['a view of a file', (file: string) => `CREATE VIEW d.v AS SELECT * FROM file('${file}', LineAsString)`],
    ['a function', () => 'CREATE FUNCTION f AS (a) -> a'],
    ['a named collection', () => 'CREATE NAMED COLLECTION n AS a = 1'],
    ['another user', () => 'CREATE USER u'],
    ['more privileges', () => 'GRANT ALL ON *.* TO default'],
    ['a shutdown', () => 'SYSTEM SHUTDOWN'],
    ['a copy of a part', () => 'ALTER TABLE d.t FREEZE'],
  ] as const)('%s', async ([, sql]) => {
    await expect(run(sql(secret))).rejects.toThrow(/Code: 497\. .*Not enough privileges/);
    expect((await readdir(folder)).toSorted()).toEqual(['data', 'secret']);
  });
});

/** Text settings that the engine uses neither as a path nor as SQL. */
const HARMLESS = [
  ...['bool_false_representation', 'bool_true_representation', 'chdb_client_name', 'column_names_for_schema_inference'],
  ...['compatibility', 'count_distinct_implementation', 'distributed_plan_force_exchange_kind', 'errors_output_format'],
  ...['exclude_materialize_skip_indexes_on_insert', 'force_data_skipping_indices', 'force_optimize_projection_name'],
  ...['format_csv_null_representation', 'format_custom_field_delimiter', 'format_custom_result_after_delimiter'],
  ...[
    'format_custom_result_before_delimiter',
    'format_custom_row_after_delimiter',
    'format_custom_row_before_delimiter',
  ],
  ...['format_custom_row_between_delimiter', 'format_json_object_each_row_column_for_object_name', 'format_regexp'],
  ...['format_schema_message_name', 'format_template_rows_between_delimiter', 'format_tsv_null_representation'],
  ...['function_implementation', 'http_response_headers', 'iceberg_metadata_compression_method'],
  ...['ignore_data_skipping_indices', 'input_format_mysql_dump_table_name', 'input_format_orc_reader_time_zone_name'],
  ...['insert_deduplication_token', 'local_filesystem_read_method', 'log_comment', 'metrics_perf_events_list'],
  ...['network_compression_method', 'output_format_avro_codec', 'output_format_avro_confluent_subject'],
  ...['output_format_avro_string_column_pattern', 'output_format_image_terminal_mode'],
  ...['output_format_orc_writer_time_zone_name', 'output_format_pretty_grid_charset'],
  ...['output_format_sql_insert_table_name', 'preferred_optimize_projection_name', 'query_cache_tag'],
  ...['remote_filesystem_read_method', 'schema_inference_hints', 'send_logs_source_regexp', 'temporary_files_codec'],
  ...['trace_profile_events_list', 'workload'],
];

// Detects settings of new engine versions, which could name a file.
test('every text setting is either fixed or known to be harmless', async () => {
  const names = await run(
    "SELECT name FROM system.settings WHERE type IN ('String', 'Map', 'URI', 'Dialect') ORDER BY name",
  );
  expect(names.trim().split('\n')).toEqual([...FIXED_SETTINGS, ...HARMLESS].toSorted());
});

test.for(FIXED_SETTINGS.filter((name) => name !== 'additional_table_filters'))('%s cannot be set', async (name) => {
  const value = name === 'dialect' ? 'kusto' : 'x';
  await expect(run(`SELECT 1 SETTINGS ${name} = '${value}'`)).rejects.toThrow(`Setting ${name} should not be changed`);
});
