import type { Logger } from 'pino';
import type { KnownGateway, ProgrammedState } from './gateway-registry.ts';

/**
 * Whether a gateway of this name is gone with everything it had, according to the platform that ran it. Rejects if the platform
 * cannot be asked.
 */
export type IsGatewayGone = (name: string) => Promise<boolean>;

export interface LostGatewaysOptions {
  readonly isGone: IsGatewayGone;
  /** Called when a lost gateway is confirmed to be gone. */
  readonly onGone: () => void;
  readonly logger: Logger;
}

/** Interval between checks whether they are gone. */
const LOOK_MS = 2_000;

/**
 * Gateways that were forgotten and may still answer callers with their last configuration, since a network partition leaves them
 * running. `Programmed` does not wait for them: otherwise, a lost node would block every change. The revocation of a key does wait.
 */
export class LostGateways {
  readonly #options: LostGatewaysOptions;
  readonly #timers = new Map<string, NodeJS.Timeout | undefined>();
  /** Gateways whose state is unknown, and for which this was logged. */
  readonly #unclear = new Set<string>();
  #isClosed = false;

  constructor(options: LostGatewaysOptions) {
    this.#options = options;
  }

  get known(): readonly KnownGateway[] {
    return this.#names.map((name) => ({ name, maxStalenessMs: 0 }));
  }

  get count(): number {
    return this.#timers.size;
  }

  add(name: string): void {
    if (this.#isClosed || this.#timers.has(name)) return;
    this.#timers.set(name, undefined);
    void this.#look(name);
  }

  /** These gateways are heard again. */
  found(gateways: readonly Pick<KnownGateway, 'name'>[]): void {
    for (const { name } of gateways) this.#drop(name);
  }

  /** The state of a revoked key, which includes lost gateways. `state` is that of the known gateways, `known` in number. */
  waitsFor(state: ProgrammedState, known: number): ProgrammedState {
    if (this.count === 0 || state.kind === 'rejected') return state;
    const waiting = state.kind === 'waiting' ? state.gateways : [];
    const gateways = [...new Set([...waiting, ...this.#names])].sort();
    return { kind: 'waiting', gateways, known: known + this.count, unheard: false };
  }

  close(): void {
    this.#isClosed = true;
    for (const name of this.#names) this.#drop(name);
  }

  get #names(): readonly string[] {
    return [...this.#timers.keys()];
  }

  #drop(name: string): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
    this.#unclear.delete(name);
  }

  async #look(name: string): Promise<void> {
    const { isGone, onGone, logger } = this.#options;
    const gone = await isGone(name).catch((error: unknown) => {
      const level = this.#unclear.has(name) ? 'debug' : 'warn';
      logger[level]({ gateway: name, err: error }, 'cannot determine whether an unreachable gateway is gone');
      if (this.#timers.has(name)) this.#unclear.add(name);
      return false;
    });
    if (!this.#timers.has(name)) return;
    if (gone) {
      this.#drop(name);
      onGone();
    } else {
      clearTimeout(this.#timers.get(name));
      this.#timers.set(name, setTimeout(() => void this.#look(name), LOOK_MS).unref());
    }
  }
}
