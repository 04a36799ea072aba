import type { LogRow } from '@standin/contract';

/**
 * Keeps accepted requests until ClickHouse has them. A row that `request` or `exchange` has accepted survives every failure that
 * the implementation promises to survive. If `request` or `exchange` refuses a row, the request is not accepted, and the response
 * is 503. Both methods copy the row before they return, so the caller can reuse its bodies immediately.
 */
export interface Recorder {
  /**
   * Returns whether the namespace may have new requests recorded. Returns false if its records use up its share. Requests that were
   * accepted before are still recorded.
   */
  admits(namespace: string): boolean;
  /** Whether new requests are refused because they could not be stored. */
  readonly isFull: boolean;
  /**
   * Called before an upstream is dialed or a delay begins, with the request alone (version 1), which becomes a row only if `exchange`
   * never follows. Resolves with false if the request cannot be kept. In that case, nothing may be sent upstream.
   */
  request(row: LogRow): Promise<boolean>;
  /** Resolves with the body of a request that `request` has accepted and that waits for `exchange`. Rejects if it cannot be read. */
  requestBody(id: string): Promise<Uint8Array>;
  /**
   * Called before the last byte of the response is sent, or when it is clear that none will be, with the complete exchange (version
   * 2). After `request` has accepted the same id, resolves with false only if the recorder is closed.
   */
  exchange(row: LogRow): Promise<boolean>;
  /** Writes the waiting rows and refuses later ones. Requests without a complete exchange keep the row from `request`. */
  close(): Promise<void>;
}
