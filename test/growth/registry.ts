import type { GrowthEntry } from './entry.ts';
import { CONTRACT } from './functions/contract.ts';
import { DASHBOARD } from './functions/dashboard.ts';
import { GATEWAY } from './functions/gateway.ts';
import { LOG_STORE } from './functions/log-store.ts';
import { MANIFESTS } from './functions/manifests.ts';
import { REDACTION } from './functions/redaction.ts';
import { RESPONSES } from './functions/responses.ts';
import { SIGNATURES } from './functions/signatures.ts';

/** The entries of all functions that read captured bytes, upstream responses, manifests or search text, except `NOT_MEASURED`. */
export const GROWTH_ENTRIES: readonly GrowthEntry[] = [
  ...GATEWAY,
  ...LOG_STORE,
  ...REDACTION,
  ...CONTRACT,
  ...DASHBOARD,
  ...MANIFESTS,
  ...RESPONSES,
  ...SIGNATURES,
];

/** Folders whose functions read third-party input. */
export const HOSTILE_FOLDERS: readonly string[] = [
  ...['authenticate', 'config', 'forward', 'match', 'receive', 'request', 'respond'].map(
    (stage) => `gateway/src/${stage}`,
  ),
  'packages/egress/src',
  'packages/exchange/src',
  'packages/engine/src',
  'packages/logstore/src',
  'packages/responses/src',
  'packages/signatures/src',
  'crds/src',
  ...['sources', 'translate', 'validate'].map((stage) => `operator/src/${stage}`),
  ...['exchange', 'replays', 'requests', 'traffic'].map((folder) => `dashboard/app/${folder}`),
  ...['access', 'api', 'captured', 'diff', 'replays', 'requests', 'shares'].map((folder) => `dashboard/src/${folder}`),
  ...['logs', 'openapi', 'validate'].map((folder) => `cli/src/${folder}`),
];

/** Functions that are named like parsers but need no entry, grouped by the reason. */
export const NOT_MEASURED: Readonly<Record<string, readonly string[]>> = {
  'part of another entry': [
    'dashboard/src/requests/recent-requests.ts#matchRecent',
    'gateway/src/request/split-target.ts#splitTarget',
    'packages/contract/src/request-target.ts#readTarget',
    'packages/exchange/src/redact/redact-multipart.ts#redactMultipart',
    'packages/exchange/src/search/filter.ts#readsContents',
    'packages/exchange/src/search/parse-term.ts#parseTerm',
    'operator/src/translate/entry.ts#readEntry',
    'packages/responses/src/pattern-table.ts#matchedSegments',
    'packages/responses/src/pattern-table.ts#matchesPattern',
    'packages/responses/src/template.ts#parseTemplate',
    'crds/src/rules.ts#matches',
  ],
  'formats numbers and times': [
    'cli/src/logs/format-entry.ts#formatDuration',
    ...['formatBytes', 'formatCount', 'formatDuration', 'formatInstant', 'formatRowTime', 'formatTick'].map(
      (name) => `dashboard/app/requests/traffic-row.ts#${name}`,
    ),
    'dashboard/src/api/parameters.ts#formatCursor',
  ],
  'reads the fields of a form, a URL or a status one by one': [
    'crds/src/read-status.ts#readStatus',
    'dashboard/app/replays/replay-values.ts#readReplayValues',
    'dashboard/app/replays/replay-values.ts#readBulkValues',
    'dashboard/app/requests/time-range.ts#readTimeRange',
    'dashboard/app/traffic/traffic-query.ts#readTrafficQuery',
  ],
  'waits for files, sockets or ClickHouse; other entries cover the parsing of the contents': [
    ...['readExchange', 'readRow'].map((name) => `dashboard/app/exchange/read-exchange.server.ts#${name}`),
    'cli/src/validate/read-manifests.ts#readManifests',
    'dashboard/src/replays/results.ts#readResponses',
    'dashboard/src/requests/read-histogram.ts#readHistogram',
    'dashboard/src/requests/read-until.ts#readUntil',
    'dashboard/app/requests/read-traffic.server.ts#readRows',
    'dashboard/src/api/read-body.ts#readJsonBody',
    'gateway/src/config/operator-connection.ts#readResponse',
    'gateway/src/receive/read-body.ts#readBody',
    'operator/src/sources/folder-reader.ts#FolderReader',
    'packages/logstore/src/count-log.ts#readHistogram',
    ...['readEntries', 'readEntry', 'readPreview', 'readPreviews', 'readRequestBodies', 'readRow', 'readVersion'].map(
      (name) => `packages/logstore/src/read-log.ts#${name}`,
    ),
    'packages/logstore/src/read-summaries.ts#readSummaries',
    ...['readReplayedExchange', 'readReplayResults', 'readReplaySummaries', 'readReplayedIds'].map(
      (name) => `packages/logstore/src/replay-results.ts#${name}`,
    ),
    'packages/logstore/src/read-inserts.ts#readInserts',
    'packages/logstore/src/run-query.ts#decodeAll',
    'packages/logstore/src/schema-state.ts#readSchemaState',
  ],
  'reads only settings from the administrator or queries from Standin': [
    'packages/egress/src/address-class.ts#matchesAny',
    'packages/egress/src/refused-targets.ts#parseTarget',
    'packages/engine/src/login.ts#readLogin',
  ],
};
