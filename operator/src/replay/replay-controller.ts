import type { ResourceObject } from '@standin/contract';
import { readStatus } from '@standin/crds';
import type { WorkQueue } from '@standin/kube';
import type { Registry } from 'prom-client';
import type { Controller } from '../controller.ts';
import { objectQueue } from '../reconciler.ts';
import { ReplaySlots } from './replay-slots.ts';
import { validSpec } from './replay-plan.ts';
import { ReplayRun, type ReplayParts } from './replay-run.ts';
import { RunControl } from './run-control.ts';

const DEFECT_MS = 10_000;
/** How soon a Replay is looked at again if the term has run out. The term usually ends before this, and sometimes it is extended. */
const TERM_OVER_MS = 1_000;
const BACKOFF = { baseMs: 200, capMs: 30_000 };
/** A Replay that waits for a shorter time does not report that it is waiting. */
const WAIT_SHOWN_MS = 250;
/** Maximum number of concurrent writes by waiting Replays, which share one rate limit with the operator's other writes. */
const WAITING_WRITERS = 2;

interface Run {
  readonly name: string;
  /** The project's namespace and name. */
  readonly project: string;
  readonly run: ReplayRun;
  readonly control: RunControl;
  readonly ended: Promise<void>;
}

const projectKey = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

/** Starts Replays that have not ended, and notifies runs of changes, for one leader's term. */
export class ReplayController implements Controller {
  readonly name = 'replay';
  readonly #parts: ReplayParts;
  readonly #queue: WorkQueue;
  /** Writes the statuses of waiting runs, by the Replay's uid. */
  readonly #waitingQueue: WorkQueue;
  readonly #places: ReplaySlots;
  /** All runs that have not ended, by the Replay's uid. */
  readonly #runs = new Map<string, Run>();
  /** Replays that ended in this term. The source may show their old state for a while. */
  readonly #over = new Set<string>();
  #isStopped = false;

  constructor(parts: ReplayParts & { readonly registry: Registry }) {
    const logger = parts.logger.child({ stage: 'replay' });
    this.#parts = { ...parts, logger };
    this.#queue = objectQueue(parts, {
      name: this.name,
      stage: 'replay',
      backoff: BACKOFF,
      reconcile: (uid) => {
        this.#reconcile(uid);
        return Promise.resolve(undefined);
      },
    });
    this.#waitingQueue = objectQueue(parts, {
      name: 'replay-waiting',
      stage: 'replay',
      concurrency: WAITING_WRITERS,
      backoff: BACKOFF,
      reconcile: async (uid) => {
        await this.#runs.get(uid)?.run.writeWaiting();
        return undefined;
      },
    });
    this.#places = new ReplaySlots(() => parts.clock.now());
  }

  start(): void {
    for (const { metadata } of this.#parts.cache.ofKind('Replay')) this.#queue.add(metadata.uid);
  }

  changed(object: ResourceObject): void {
    if (object.kind === 'Project')
      for (const replay of this.#parts.cache.operationsFor(object, 'Replay'))
        this.#runs.get(replay.metadata.uid)?.control.seeProject();
    if (object.kind !== 'Replay') return;
    const { uid } = object.metadata;
    const run = this.#runs.get(uid);
    if (run === undefined) this.#queue.add(uid);
    else run.control.set(validSpec(object, 'Replay')?.state ?? run.control.state);
  }

  removed({ metadata: { uid } }: ResourceObject): void {
    this.#runs.get(uid)?.control.stop();
    this.#over.delete(uid);
  }

  /**
   * Returns the names of the Replays that may still store the response to a request of this project which they read before this
   * time. Asks the runs, because a status is written later and may have been deleted. The time is in milliseconds of `clock.now()`.
   */
  storing(project: { readonly namespace: string; readonly name: string }, readBefore: number): readonly string[] {
    const key = projectKey(project);
    return [...this.#runs.values()].flatMap((one) => {
      const { readingSince = Infinity } = one.run;
      return one.project === key && readingSince <= readBefore ? [one.name] : [];
    });
  }

  /** Stops all runs. Resolves when no requests are being sent and no statuses are being written. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { control } of this.#runs.values()) control.stop();
    await Promise.all([this.#queue.stop(), this.#waitingQueue.stop()]);
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  #reconcile(uid: string): void {
    const object = this.#parts.cache.get(uid);
    if (object?.kind !== 'Replay' || this.#runs.has(uid) || this.#isStopped || this.#over.has(uid)) return;
    if (readStatus('Replay', object.status).completedAt === undefined) this.#start(object);
  }

  #start(object: ResourceObject): void {
    const { uid, namespace, name } = object.metadata;
    const spec = validSpec(object, 'Replay');
    const control = new RunControl(spec?.state ?? 'Running', this.#parts.remainingMs);
    const project = projectKey({ namespace, name: spec?.projectRef.name ?? '' });
    const writeLater = (): void => this.#waitingQueue.addAfter(uid, WAIT_SHOWN_MS);
    const run = new ReplayRun({ ...this.#parts, places: this.#places, writeLater }, object, control);
    const ended = run
      .run()
      .catch((error: unknown) => {
        this.#parts.logger.error({ err: error, namespace, name }, 'replay failed unexpectedly, retrying');
        return 'defect' as const;
      })
      .then((end) => {
        this.#runs.delete(uid);
        if (end === 'over' && this.#parts.cache.has(uid)) this.#over.add(uid);
        else if (end === 'defect') this.#queue.addAfter(uid, DEFECT_MS);
        // The Replay may have been reported again while the run was stopping. At the end of the term it must not start again now,
        // because it would stop immediately, in a loop in which the signal of the term never arrives.
        else if (end === 'stopped') this.#queue.addAfter(uid, this.#parts.remainingMs() > 0 ? 0 : TERM_OVER_MS);
      });
    this.#runs.set(uid, { name, project, run, control, ended });
  }
}
