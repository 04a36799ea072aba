/**
 * How readers of the embedded ClickHouse wait for inserts, so that they need not poll. Every response to a statement contains a
 * mark, which identifies the engine process and the number of its inserts so far. A request to `INSERTS_PATH` with `?after=MARK`
 * gets its response when the current mark differs from MARK. A ClickHouse server has no equivalent. This file has no imports,
 * because the engine image contains no other file from this package.
 */
export const INSERT_MARK_HEADER = 'x-standin-insert-mark';
export const INSERTS_PATH = '/inserts';
/**
 * A wait ends after this time, even without an insert. A reader that gets no response for much longer knows that the engine is
 * hanging.
 */
export const INSERT_WAIT_MS = 4_000;
