/**
 * Import cycles that still exist. The architecture test fails on a cycle that is not listed, and on a listed one that no longer
 * exists. Delete lines; add none.
 */

/** `BASE: FOLDER, FOLDER`, sorted. */
export const KNOWN_FOLDER_CYCLES: readonly string[] = [
  'cli/src: dev, logs, server',
  'dashboard/app: exchange, replays, shares, traffic',
  'dashboard/app: lib, ui',
  'dashboard/src: shares, workers',
  'operator/src: keys, status',
];

/** `FILE, FILE`, sorted. */
export const KNOWN_FILE_CYCLES: readonly string[] = [
  'packages/logstore/src/embedded/check-statement.ts, packages/logstore/src/embedded/engine.ts, packages/logstore/src/embedded/exceptions.ts, packages/logstore/src/embedded/statement.ts, packages/logstore/src/embedded/tokens.ts',
  'test/harness/clickhouse-cluster.ts, test/harness/clickhouse.ts',
];
