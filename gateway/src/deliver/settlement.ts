import type { SettledProject } from '@standin/contract';
import { CLOCK_STEP_MS, wallClockUs } from '../request/clock.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Delivery } from './delivery.ts';

export interface SettlementOptions {
  readonly delivery: Pick<Delivery, 'lastFile' | 'hasDelivered' | 'hasUnshown' | 'onStep' | 'quarantinedProjects'>;
  readonly pipeline: Pick<Pipeline, 'unrecordedSinceUs'>;
}

/** A question about some projects. */
interface Waiting {
  /** The projects that are not delivered yet, and the `untilUs` to report. */
  readonly projects: Map<string, number>;
  readonly lastFile: string;
  readonly tell: (settled: readonly SettledProject[]) => void;
}

/** Stands for all projects. */
export const ALL_PROJECTS = '';

/** Finds out when ClickHouse has what the gateway has accepted (docs/internals/adr/045-settled-reads.md). */
export class Settlement {
  readonly #options: SettlementOptions;
  readonly #waiting = new Set<Waiting>();

  constructor(options: SettlementOptions) {
    this.#options = options;
    options.delivery.onStep(() => this.#check());
  }

  /**
   * Calls `tell` with each of these projects once, when ClickHouse has all of its requests that are accepted now, in any version. This
   * can happen within the call. Returns a function that ends the wait.
   */
  wait(projects: readonly string[], tell: Waiting['tell']): () => void {
    const { delivery, pipeline } = this.#options;
    const since = pipeline.unrecordedSinceUs();
    // The clock of later requests can be set back by a little.
    const nowUs = wallClockUs(performance.now()) - 2 * CLOCK_STEP_MS * 1_000;
    const untilUs = (project: string): number => {
      const own = project === ALL_PROJECTS ? since.values() : [since.get(project) ?? Infinity];
      return Math.floor(Math.min(nowUs, since.get(undefined) ?? Infinity, ...own));
    };
    const waiting: Waiting = {
      projects: new Map(projects.map((project) => [project, untilUs(project)])),
      lastFile: delivery.lastFile,
      tell,
    };
    this.#waiting.add(waiting);
    this.#checkOne(waiting);
    return () => this.#waiting.delete(waiting);
  }

  #check(): void {
    for (const waiting of this.#waiting) this.#checkOne(waiting);
  }

  #checkOne(waiting: Waiting): void {
    const { delivery } = this.#options;
    const { projects, lastFile, tell } = waiting;
    if (!delivery.hasDelivered(lastFile)) return;
    const settled: SettledProject[] = [];
    for (const [project, untilUs] of projects) {
      if (delivery.hasUnshown(project === ALL_PROJECTS ? undefined : project, lastFile)) continue;
      projects.delete(project);
      settled.push({ project, untilUs, hasQuarantine: hasQuarantine(delivery.quarantinedProjects, project) });
    }
    if (projects.size === 0) this.#waiting.delete(waiting);
    if (settled.length > 0) tell(settled);
  }
}

const hasQuarantine = (quarantined: ReadonlyMap<string | undefined, string>, project: string): boolean =>
  project === ALL_PROJECTS ? quarantined.size > 0 : quarantined.has(undefined) || quarantined.has(project);
