/** Maximum number of Replays that send at the same time. */
export const PLACES_MAX = 16;
/**
 * Maximum number of Replays in one namespace that send at the same time. With this limit, slow Replays leave room for other
 * namespaces.
 */
export const PLACES_IN_NAMESPACE_MAX = 4;
/** After this time, a Replay gives its slot to a waiting Replay. The time is long enough that these changes cost little. */
const TURN_MS = 30_000;

/** A slot, or a position in the queue for one. */
export interface Ticket {
  readonly namespace: string;
  /** Resolves when the slot is taken. */
  readonly granted: Promise<unknown>;
  /** The time when the slot was taken, as returned by `clock.now()`. Undefined while the ticket waits. */
  readonly takenAt: number | undefined;
}

interface OwnTicket extends Ticket {
  readonly grant: () => void;
  takenAt: number | undefined;
  isLeaving: boolean;
}

/**
 * The slots for sending Replays. Waiting namespaces take turns, so many Replays in one namespace do not delay those in another.
 * Within a namespace, the Replay that has waited longest is next, after those that joined `first`.
 */
export class ReplaySlots {
  readonly #now: () => number;
  /** The number of slots that are taken, by namespace. */
  readonly #taken = new Map<string, number>();
  /** The waiting tickets by namespace. The first namespace with room is next. */
  readonly #lines = new Map<string, OwnTicket[]>();
  #leaving = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get taken(): number {
    return [...this.#taken.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Takes a slot or waits for one, `first` or last in the namespace's queue. The caller must call `leave`. */
  join(namespace: string, at: 'first' | 'last' = 'last'): Ticket {
    const { promise: granted, resolve } = Promise.withResolvers<undefined>();
    const grant = (): void => resolve(undefined);
    const ticket: OwnTicket = { namespace, granted, grant, takenAt: undefined, isLeaving: false };
    const line = this.#lines.get(namespace) ?? [];
    if (at === 'first') line.unshift(ticket);
    else line.push(ticket);
    this.#lines.set(namespace, line);
    this.#serve();
    return ticket;
  }

  /** Gives the slot back, or leaves the queue. */
  leave(ticket: Ticket): void {
    const { namespace, isLeaving } = ticket as OwnTicket;
    if (ticket.takenAt === undefined) {
      const line = this.#lines.get(namespace) ?? [];
      line.splice(line.indexOf(ticket as OwnTicket), 1);
      if (line.length === 0) this.#lines.delete(namespace);
      return;
    }
    const others = this.#takenBy(namespace) - 1;
    if (others === 0) this.#taken.delete(namespace);
    else this.#taken.set(namespace, others);
    if (isLeaving) this.#leaving -= 1;
    this.#serve();
  }

  /** Returns whether the Replay must give back its slot because its turn is over and another Replay is waiting. */
  mustLeave(ticket: Ticket): boolean {
    const own = ticket as OwnTicket;
    if (own.isLeaving) return true;
    if (own.takenAt === undefined || this.#now() - own.takenAt < TURN_MS || !this.#isWanted(own)) return false;
    own.isLeaving = true;
    this.#leaving += 1;
    return true;
  }

  /** Returns whether more Replays are waiting for the ticket's slot than there are slots about to be given back. */
  #isWanted({ namespace }: Ticket): boolean {
    let unserved = -this.#leaving;
    for (const [waiting, { length }] of this.#lines) {
      if (waiting === namespace || this.#hasRoom(waiting)) unserved += length;
      if (unserved > 0) return true;
    }
    return false;
  }

  #serve(): void {
    while (this.taken < PLACES_MAX) {
      const ticket = this.#next();
      if (ticket === undefined) return;
      const { namespace } = ticket;
      this.#taken.set(namespace, this.#takenBy(namespace) + 1);
      ticket.takenAt = this.#now();
      ticket.grant();
    }
  }

  /** Removes the next ticket from its queue, and moves its namespace to the end. */
  #next(): OwnTicket | undefined {
    for (const [namespace, line] of this.#lines) {
      if (!this.#hasRoom(namespace)) continue;
      this.#lines.delete(namespace);
      if (line.length > 1) this.#lines.set(namespace, line);
      return line.shift();
    }
    return undefined;
  }

  #takenBy(namespace: string): number {
    return this.#taken.get(namespace) ?? 0;
  }

  #hasRoom(namespace: string): boolean {
    return this.#takenBy(namespace) < PLACES_IN_NAMESPACE_MAX;
  }
}
