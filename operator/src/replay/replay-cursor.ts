import type { LogCursor } from '@standin/logstore';

/** The progress of a replay: all requests up to `at` are done, `count` in total. */
export interface Position {
  readonly at: LogCursor;
  readonly count: number;
}

const PATTERN = /^(\d{1,9}) (\d{4}-\d\d-\d\dT[\d:.]+Z) ([0-9a-f-]{36})$/;

/** Formats a position for a Replay's status, such as `12 2026-11-21T09:00:00.123456Z 0197a3c2-…`. */
export const formatPosition = ({ at, count }: Position): string => `${count} ${at.receivedAt} ${at.id}`;

/**
 * Parses the text of `formatPosition`. Returns undefined for any other text. In that case, the replay starts from the beginning.
 */
export const parsePosition = (text: string | undefined): Position | undefined => {
  const match = PATTERN.exec(text ?? '');
  if (match === null) return undefined;
  const [, count = '', receivedAt = '', id = ''] = match;
  return { at: { id, receivedAt }, count: Number(count) };
};

interface Ticket {
  readonly at: LogCursor;
  isDone: boolean;
}

/** Tracks requests that complete in any order. The position moves past a request only when all requests before it are done. */
export class ReplayCursor {
  readonly #tickets: Ticket[] = [];
  #position: Position | undefined;

  constructor(start: Position | undefined) {
    this.#position = start;
  }

  get position(): Position | undefined {
    return this.#position;
  }

  /** Adds a request after all earlier ones. Returns a function to call when the request is done. */
  begin(at: LogCursor): () => void {
    const ticket: Ticket = { at: { id: at.id, receivedAt: at.receivedAt }, isDone: false };
    this.#tickets.push(ticket);
    return () => {
      ticket.isDone = true;
      this.#advance();
    };
  }

  #advance(): void {
    const undone = this.#tickets.findIndex(({ isDone }) => !isDone);
    const done = this.#tickets.splice(0, undone === -1 ? this.#tickets.length : undone);
    const last = done.at(-1);
    if (last !== undefined) this.#position = { at: last.at, count: (this.#position?.count ?? 0) + done.length };
  }
}
