import type { ContainsField, NumberField, PatternField, Side } from '@standin/exchange/search';

/**
 * A column for a field. The SQL of a search contains only constants such as these, never text from the user. `frozen` means that
 * the value is the same in all versions of a row (only the request, or the complete exchange), so that a condition on it can be
 * checked before the versions are merged.
 */
export interface Column {
  readonly sql: string;
  readonly frozen: boolean;
  /** Whether the value is shown with one character per byte (see `LogEntry`) rather than as UTF-8. */
  readonly latin1?: boolean;
}

export const PATTERN_COLUMNS: Readonly<Record<PatternField, Column>> = {
  path: { sql: 'path', frozen: true, latin1: true },
  endpoint: { sql: 'endpoint', frozen: true },
  // Chosen before the request is recorded, so all versions of a row have it.
  response: { sql: 'response', frozen: true },
  project: { sql: 'project', frozen: true },
  namespace: { sql: 'namespace', frozen: true },
  account: { sql: 'account', frozen: true },
  gateway: { sql: 'gateway', frozen: true },
  key: { sql: 'key_fingerprint', frozen: true },
  delivery: { sql: 'delivery_id', frozen: true, latin1: true },
  client: { sql: 'client_address', frozen: true },
  upstream: { sql: 'upstream_url', frozen: false },
  id: { sql: 'toString(id)', frozen: true },
};

/**
 * The text of a body, in lower case, because the indexes in migrations/001_log.sql use these expressions. All versions of a row have the
 * same text of the request, unless a segment contained more text than a gateway decodes. Then only some of them may be found by it.
 */
const REQUEST_TEXT: Column = { sql: 'lower(if(empty(request_text), request_body, request_text))', frozen: true };
const RESPONSE_TEXT: Column = { sql: 'lower(if(empty(response_text), response_body, response_text))', frozen: false };

export const CONTAINS_COLUMNS: Readonly<Record<ContainsField, Column>> = {
  query: { sql: 'lower(query)', frozen: true, latin1: true },
  body: REQUEST_TEXT,
  'resp.body': RESPONSE_TEXT,
};

const headerLines = (column: string): string =>
  `arrayStringConcat(arrayMap(h -> concat(h.1, ': ', h.2), ${column}), '\\n')`;

/** The path, the query, the request's headers and the response's headers as one string, in lower case. */
const HEAD_TEXT = `lower(concat(path, '?', query, '\\n', ${headerLines('request_headers')}, '\\n', ${headerLines('response_headers')}))`;

/** Cheap columns come first, because ClickHouse reads a column only if the columns before it do not match. */
export const TEXT_COLUMNS: readonly Column[] = [
  REQUEST_TEXT,
  RESPONSE_TEXT,
  { sql: HEAD_TEXT, frozen: false, latin1: true },
];

export const NUMBER_COLUMNS: Readonly<Record<NumberField, Column>> = {
  status: { sql: 'status', frozen: false },
  dur: { sql: 'duration_us', frozen: false },
  size: { sql: 'body_bytes', frozen: false },
  'req.size': { sql: 'length(request_body)', frozen: true },
  'resp.size': { sql: 'response_body_bytes', frozen: false },
};

export interface HeaderColumns {
  readonly names: string;
  readonly values: string;
  readonly map: string;
  readonly frozen: boolean;
}

export const HEADER_COLUMNS: Readonly<Record<Side, HeaderColumns>> = {
  request: {
    names: 'request_headers.name',
    values: 'request_headers.value',
    map: 'request_header_map',
    frozen: true,
  },
  response: {
    names: 'response_headers.name',
    values: 'response_headers.value',
    map: 'response_header_map',
    frozen: false,
  },
};
