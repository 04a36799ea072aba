import type { LogCursor } from '@standin/logstore';

/** How far a replay is: all requests up to `at` are done, `count` of them. */
export interface Position {
  readonly at: LogCursor;
  readonly count: number;
}

const PATTERN = /^(\d{1,9}) (\d{4}-\d\d-\d\dT[\d:.]+Z) ([0-9a-f-]{36})$/;

/** `12 2026-11-21T09:00:00.123456Z 0197a3c2-…`: the form in a Replay's status. */
export const formatPosition = ({ at, count }: Position): string => `${count} ${at.receivedAt} ${at.id}`;

/** Undefined for anything that `formatPosition` has not written: then the replay begins anew. */
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

/** Requests may be done in any order; the position moves past those that have nothing undone before them. */
export class ReplayCursor {
  readonly #tickets: Ticket[] = [];
  #position: Position | undefined;

  constructor(start: Position | undefined) {
    this.#position = start;
  }

  get position(): Position | undefined {
    return this.#position;
  }

  /** A request is taken up, behind all before it; what is returned is to be called when it is done. */
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
