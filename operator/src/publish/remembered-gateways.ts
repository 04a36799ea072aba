import { WorkQueue, type KubeLogger } from '@standin/kube';
import type { Registry } from 'prom-client';
import type { GatewayMemory } from './gateway-memory.ts';
import type { KnownGateway } from './gateway-registry.ts';

export interface RememberedGatewaysOptions {
  readonly memory: GatewayMemory;
  /** The gateways to remember now. */
  readonly gateways: () => readonly KnownGateway[];
  readonly logger: KubeLogger;
  readonly registry?: Registry | undefined;
}

const BACKOFF = { baseMs: 100, capMs: 30_000 };
const ALL = 'known';

interface Waiter {
  readonly gateway: string;
  readonly settled: PromiseWithResolvers<undefined>;
}

/**
 * Stores which gateways may answer callers, and retries until it succeeds. Callers can wait until a gateway is stored. For one
 * leader's term.
 */
export class RememberedGateways {
  readonly #options: RememberedGatewaysOptions;
  readonly #queue: WorkQueue;
  readonly #waiters = new Set<Waiter>();
  /** The stored gateways, as far as this leader knows. */
  #written: readonly KnownGateway[] = [];
  #isStopped = false;

  constructor(options: RememberedGatewaysOptions) {
    const { memory, gateways, logger, registry } = options;
    this.#options = options;
    this.#queue = new WorkQueue({
      ...{ name: 'gateways', backoff: BACKOFF, registry, logger },
      reconcile: async () => {
        const all = gateways();
        await memory.write(all);
        this.#written = all;
        this.#settle();
        return undefined;
      },
    });
  }

  async read(): Promise<readonly KnownGateway[]> {
    this.#written = await this.#options.memory.read();
    return this.#written;
  }

  /** The list of gateways to remember has changed. */
  changed(): void {
    this.#queue.add(ALL);
  }

  /** Resolves when this gateway's current state is stored. Rejects if the term ends first. */
  async has(gateway: string): Promise<void> {
    if (this.#isWritten(gateway)) return;
    if (this.#isStopped) throw stopped();
    const waiter = { gateway, settled: Promise.withResolvers<undefined>() };
    this.#waiters.add(waiter);
    await waiter.settled.promise;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { settled } of this.#waiters) settled.reject(stopped());
    this.#waiters.clear();
    await this.#queue.stop();
  }

  #settle(): void {
    for (const waiter of this.#waiters) {
      if (!this.#isWritten(waiter.gateway)) continue;
      this.#waiters.delete(waiter);
      waiter.settled.resolve(undefined);
    }
  }

  #isWritten(gateway: string): boolean {
    const wanted = this.#options.gateways().find(({ name }) => name === gateway);
    const written = this.#written.find(({ name }) => name === gateway);
    // A gateway that is no longer to be remembered has ended.
    return wanted === undefined || written?.maxStalenessMs === wanted.maxStalenessMs;
  }
}

const stopped = (): Error => new Error('this operator stopped leading before it had written down the gateway');
