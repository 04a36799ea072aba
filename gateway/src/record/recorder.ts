import type { LogRow } from '@standin/contract';

/**
 * Where accepted requests are kept until ClickHouse has them. What `request` or `exchange` has said yes to is not lost by
 * anything that the implementation promises to survive; what it refuses was not accepted, and is answered with 503.
 * Both copy the row before they return: its bodies are the caller's again at once.
 */
export interface Recorder {
  /**
   * Forward, before the upstream is dialled: the request alone (version 1). It becomes a row only if `exchange` never follows.
   * False: it cannot be kept, nothing may be sent upstream.
   */
  request(row: LogRow): Promise<boolean>;
  /**
   * Before the last byte of the answer goes out: the whole exchange (version 2). Never false after `request` said yes to the
   * same id.
   */
  exchange(row: LogRow): Promise<boolean>;
  /** Hands over what was begun and never ended, as it stands. Everything that comes later is refused. */
  close(): Promise<void>;
}
