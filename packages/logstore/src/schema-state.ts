import { z } from 'zod';
import type { ClickHouse } from './clickhouse.ts';
import { LogStoreError } from './log-store-error.ts';
import { loadMigrations, type MigrationTarget } from './migrations.ts';

/** The existing tables, compared with those that this version knows. */
export type SchemaState =
  | { readonly kind: 'current' }
  /** No tables exist yet. */
  | { readonly kind: 'missing' }
  /** The tables are from an earlier version. `pending` contains the names of the migrations that have not been applied. */
  | { readonly kind: 'older'; readonly pending: readonly string[] }
  /**
   * The tables are from a later version. `applied` is the number of the newest applied migration, and `known` is that of the newest
   * one that this version has.
   */
  | { readonly kind: 'newer'; readonly applied: number; readonly known: number };

const appliedRow = z.object({ number: z.number().int() });

/** The ClickHouse error codes UNKNOWN_TABLE and UNKNOWN_DATABASE. */
const MISSING_CODES: ReadonlySet<string> = new Set(['60', '81']);

/** Returns the numbers of the applied migrations. Rejects with a `LogStoreError`. */
export const appliedMigrations = async (clickhouse: ClickHouse): Promise<ReadonlySet<number>> => {
  const sql = 'SELECT DISTINCT number FROM migrations FORMAT JSONEachRow';
  const lines = (await clickhouse.run('read the migrations', { sql })).toString('utf8').split('\n');
  return new Set(lines.filter((line) => line !== '').map((line) => appliedRow.parse(JSON.parse(line)).number));
};

/** Reads the state without changing anything. Rejects with a `LogStoreError` if the state cannot be determined. */
export const readSchemaState = async (clickhouse: ClickHouse, target: MigrationTarget): Promise<SchemaState> => {
  const own = await loadMigrations(target);
  // Includes the migrations for a cluster, because this process may not know the cluster's name, which only processes that create
  // tables need. `any` stands for the name, which makes no difference here.
  const known = await loadMigrations({ ...target, cluster: target.cluster ?? 'any' });
  let applied: ReadonlySet<number>;
  try {
    applied = await appliedMigrations(clickhouse);
  } catch (error) {
    if (error instanceof LogStoreError && MISSING_CODES.has(error.code)) return { kind: 'missing' };
    throw error;
  }
  if (applied.size === 0) return { kind: 'missing' };
  const pending = own.filter(({ number }) => !applied.has(number)).map(({ name }) => name);
  if (pending.length > 0) return { kind: 'older', pending };
  const newest = { applied: Math.max(...applied), known: Math.max(...known.map(({ number }) => number)) };
  return newest.applied > newest.known ? { kind: 'newer', ...newest } : { kind: 'current' };
};
