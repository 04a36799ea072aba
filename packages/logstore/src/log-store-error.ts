import { errorMessage } from '@standin/contract';
import { ClickHouseError } from '@clickhouse/client';

/**
 * `retryable` means that the server may accept the same bytes later, because they are not the problem. `permanent` means that the
 * server has read the bytes and will never accept them, so the batch must be bisected and its bad row quarantined. Only codes that
 * blame the data are permanent. A missing table, a wrong password or an unknown code is retryable, because an error in the server
 * configuration must not quarantine good rows.
 */
export type LogStoreErrorKind = 'retryable' | 'permanent';

/** See src/Common/ErrorCodes.cpp in ClickHouse. */
const TIMEOUT_EXCEEDED = '159';

/**
 * Thrown when a call to ClickHouse is rejected or fails. Does not keep the client's error as its cause, because that error's text
 * may quote captured data, and loggers print causes.
 */
export class LogStoreError extends Error {
  override readonly name = 'LogStoreError';
  readonly kind: LogStoreErrorKind;
  /** ClickHouse's error code (`60`), the system's (`ECONNREFUSED`, `ETIMEDOUT`), or `EUNKNOWN`. */
  readonly code: string;

  constructor(message: string, fields: { kind: LogStoreErrorKind; code: string }) {
    super(message);
    this.kind = fields.kind;
    this.code = fields.code;
  }

  /** Whether the query exceeded its time limit. The same query would fail again. */
  get isTooSlow(): boolean {
    return this.code === TIMEOUT_EXCEEDED;
  }
}

/** Codes with which ClickHouse rejects the data itself (src/Common/ErrorCodes.cpp). */
const DATA_ERRORS: ReadonlySet<string> = new Set([
  '6', // CANNOT_PARSE_TEXT
  '25', // CANNOT_PARSE_ESCAPE_SEQUENCE
  '26', // CANNOT_PARSE_QUOTED_STRING
  '27', // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  '32', // ATTEMPT_TO_READ_AFTER_EOF
  '33', // CANNOT_READ_ALL_DATA
  '38', // CANNOT_PARSE_DATE
  '41', // CANNOT_PARSE_DATETIME
  '53', // TYPE_MISMATCH
  '69', // ARGUMENT_OUT_OF_BOUND
  '70', // CANNOT_CONVERT_TYPE
  '72', // CANNOT_PARSE_NUMBER
  '117', // INCORRECT_DATA
  '128', // TOO_LARGE_ARRAY_SIZE
  '131', // TOO_LARGE_STRING_SIZE
  '190', // SIZES_OF_ARRAYS_DONT_MATCH
  '321', // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
  '349', // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
  '376', // CANNOT_PARSE_UUID
  '467', // CANNOT_PARSE_BOOL
  '469', // VIOLATED_CONSTRAINT
]);

const TOO_MANY_PARTS = '252';

const errorKind = (code: string, message: string): LogStoreErrorKind => {
  if (DATA_ERRORS.has(code)) return 'permanent';
  // This code has two causes. If there are too many parts, a retry succeeds when merges catch up. If there are too many partitions
  // for one insert, no retry succeeds.
  if (code === TOO_MANY_PARTS && /too many partitions/i.test(message)) return 'permanent';
  return 'retryable';
};

/** Long enough for the beginning of ClickHouse's message, short enough to exclude most of a quoted row. */
const MESSAGE_LENGTH_MAX = 300;

/** Converts any error from @clickhouse/client to a `LogStoreError`. */
export const toLogStoreError = (operation: string, cause: unknown): LogStoreError => {
  if (cause instanceof LogStoreError) return cause;
  const text = errorMessage(cause);
  const firstLine = (text.split('\n', 1)[0] ?? '').slice(0, MESSAGE_LENGTH_MAX);
  if (cause instanceof ClickHouseError) {
    const name = cause.type === undefined ? '' : ` ${cause.type}`;
    const fields = { kind: errorKind(cause.code, text), code: cause.code };
    return new LogStoreError(`ClickHouse refused to ${operation}: code ${cause.code}${name}: ${firstLine}`, fields);
  }
  const system = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  const code = system ?? (/timeout/i.test(text) ? 'ETIMEDOUT' : 'EUNKNOWN');
  return new LogStoreError(`Could not ${operation}: ${firstLine}`, { kind: 'retryable', code });
};
