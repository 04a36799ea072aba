export { checkSchema, type CheckSchemaOptions } from './check-schema.ts';
export { LOG_CONNECTIONS_MAX } from './clickhouse.ts';
export {
  bodyTextsSize,
  decodeBodyTexts,
  decodeRow,
  decodeRowStart,
  putBodyTexts,
  putRow,
  rowSize,
} from './codecs.generated.ts';
export { LOG_COLUMNS } from './columns.ts';
export type { EachCount, EachFilter } from './count-each.ts';
export type { HourlyCounts, LastRequest, LogOwner } from './count-requests.ts';
export { HISTOGRAM_BUCKETS_MAX, STATUS_CLASSES } from './count-log.ts';
export type { HistogramBucket, HistogramRange, StatusClass } from './count-log.ts';
export type { PermitFilter, SpentPermits } from './count-permits.ts';
export type { DayUsage, EndpointUsage, Usage, UsageRange } from './count-usage.ts';
export type { DistinctField, DistinctOptions } from './distinct-values.ts';
export { encodeRow, NAMESPACE_END_MAX, namespaceAt, projectUidAt } from './encode-row.ts';
export type { FollowOptions, InsertFeed } from './follow-inserts.ts';
export { EVERY_PROJECT, LIST_LIMIT_MAX, LogFilterError } from './log-filter.ts';
export type { CountFilter, LogCursor, LogFilter, StatusRange } from './log-filter.ts';
export { LogStoreError } from './log-store-error.ts';
export type { LogStoreErrorKind } from './log-store-error.ts';
export { openLogStore } from './log-store.ts';
export type { InsertBatch, LogStore, LogStoreOptions, PurgeStore, ReplayStore } from './log-store.ts';
export { migrationScript } from './migrate.ts';
export type { BodyStart, RequestKeys } from './read-log.ts';
export type { PurgeFilter, PurgeStep } from './purge.ts';
export type {
  ReplayedExchange,
  ReplayedRequest,
  ReplayKey,
  ReplayResultsFilter,
  ReplaySummary,
  StatusCount,
} from './replay-results.ts';
export type { ReplayResult } from './replay-results-table.ts';
export { RowBinaryReader } from './row-binary-reader.ts';
export { clickHouseSettings, migratingSettings } from './settings.ts';
export type { SchemaState } from './schema-state.ts';
export { rememberRequests, tailLog, tailSummaries } from './tail-log.ts';
export type { TailedLog, TailFilter, TailOptions } from './tail-log.ts';
