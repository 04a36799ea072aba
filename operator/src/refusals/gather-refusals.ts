import { randomUUID } from 'node:crypto';
import {
  LIMITS,
  mergeRefusals,
  SourceError,
  type GatheredRefusals,
  type RefusalReport,
  type Refusals,
  type StreamMessage,
} from '@standin/contract';

export interface RefusalGathererOptions {
  readonly gateways: { readonly known: readonly { readonly name: string; readonly connected: boolean }[] };
  /** Sends a message to all gateways that support the feature. */
  readonly log: { announce(message: Extract<StreamMessage, { type: 'refusals' }>): void };
  readonly waitMs?: number;
}

interface Ask {
  readonly missing: Set<string>;
  readonly reports: Refusals[];
  readonly answered: PromiseWithResolvers<undefined>;
}

/** Asks the gateways for the requests that they refused, for one leader's term. Keeps nothing after it has responded. */
export class RefusalGatherer {
  readonly #options: RefusalGathererOptions;
  readonly #asks = new Map<string, Ask>();
  /** Reads that have not ended, by project. */
  readonly #reads = new Map<string, Promise<GatheredRefusals>>();

  constructor(options: RefusalGathererOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the refused requests of a project, after all connected gateways have reported, or after `LIMITS.refusalsWaitMs`.
   * Rejects with `SourceError` (`Unavailable`) if too many reads are running.
   */
  gather(projectUid: string): Promise<GatheredRefusals> {
    const running = this.#reads.get(projectUid);
    if (running !== undefined) return running;
    if (this.#reads.size >= LIMITS.refusalReadsMax) return Promise.reject(tooMany());
    const read = this.#read(projectUid).finally(() => this.#reads.delete(projectUid));
    this.#reads.set(projectUid, read);
    return read;
  }

  /** Takes a gateway's report. Ignores reports that arrive too late. */
  report({ gateway, ask: id, refusals }: RefusalReport): void {
    const ask = this.#asks.get(id);
    if (ask?.missing.delete(gateway) !== true) return;
    ask.reports.push(refusals);
    if (ask.missing.size === 0) ask.answered.resolve(undefined);
  }

  async #read(project: string): Promise<GatheredRefusals> {
    const { gateways, log, waitMs = LIMITS.refusalsWaitMs } = this.#options;
    const connected = gateways.known.filter((gateway) => gateway.connected);
    const id = randomUUID();
    const ask: Ask = {
      missing: new Set(connected.map(({ name }) => name)),
      reports: [],
      answered: Promise.withResolvers(),
    };
    if (ask.missing.size === 0) ask.answered.resolve(undefined);
    this.#asks.set(id, ask);
    const timer = setTimeout(() => ask.answered.resolve(undefined), waitMs);
    log.announce({ type: 'refusals', ask: id, project });
    await ask.answered.promise;
    clearTimeout(timer);
    this.#asks.delete(id);
    return { ...mergeRefusals(ask.reports), missing: [...ask.missing].sort() };
  }
}

const tooMany = (): SourceError =>
  new SourceError('Unavailable', 'too many reads of refused requests are running: try again in a few seconds');
