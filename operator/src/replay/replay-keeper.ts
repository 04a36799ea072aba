import { LIMITS, SourceError, type ResourceObject } from '@standin/contract';
import { DEFINITIONS } from '@standin/crds';
import { WorkQueue, type ReconcileResult } from '@standin/kube';
import type { Registry } from 'prom-client';
import { specOf } from './replay-plan.ts';
import { ReplayRun, type ReplayParts } from './replay-run.ts';
import { RunControl } from './run-control.ts';

/** Maximum number of concurrent replays. Others wait. */
const RUNS_MAX = 16;
/** Maximum number in one namespace, including paused ones. So paused or slow replays leave room for other namespaces. */
const RUNS_IN_NAMESPACE_MAX = 4;
const TURN_MS = 500;
/** The delay before a waiting Replay is looked at again. */
const LATER_MS = 2_000;
const DEFECT_MS = 10_000;
const BACKOFF = { baseMs: 200, capMs: 30_000 };

interface Run {
  readonly namespace: string;
  readonly control: RunControl;
  readonly ended: Promise<void>;
}

/**
 * Runs for one leader's term: starts Replays that have not ended, notifies runs of changes, and removes Replays that ended a day
 * ago.
 */
export class ReplayKeeper {
  readonly #parts: ReplayParts;
  readonly #queue: WorkQueue;
  /** By the Replay's uid. */
  readonly #runs = new Map<string, Run>();
  /** Replays that ended in this term. The source may show their old state for a while. */
  readonly #over = new Set<string>();
  #isStopped = false;

  constructor(parts: ReplayParts & { readonly registry: Registry }) {
    this.#parts = parts;
    const { registry, logger } = parts;
    this.#queue = new WorkQueue({
      ...{ name: 'replay', backoff: BACKOFF, registry, logger },
      reconcile: (uid) => this.#reconcile(uid),
    });
  }

  begin(): void {
    for (const [uid, { kind }] of this.#parts.objects) if (kind === 'Replay') this.#queue.add(uid);
  }

  /** The source reports an object, changed or not. */
  seen(object: ResourceObject): void {
    if (object.kind !== 'Replay') return;
    const { uid } = object.metadata;
    const run = this.#runs.get(uid);
    if (run === undefined) this.#queue.add(uid);
    else run.control.set(specOf(object, 'Replay')?.state ?? run.control.state);
  }

  forget({ metadata: { uid } }: ResourceObject): void {
    this.#runs.get(uid)?.control.stop();
    this.#over.delete(uid);
  }

  /** Resolves when no request is sent and no status is written. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { control } of this.#runs.values()) control.stop();
    await this.#queue.stop();
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  async #reconcile(uid: string): Promise<ReconcileResult | undefined> {
    const object = this.#parts.objects.get(uid);
    if (object?.kind !== 'Replay' || this.#runs.has(uid) || this.#isStopped) return undefined;
    const { completedAt } = DEFINITIONS.Replay.status.safeParse(object.status).data ?? {};
    if (completedAt !== undefined) return this.#removeLater(object, Date.parse(completedAt));
    if (this.#over.has(uid)) return undefined;
    if (!this.#hasRoom(object.metadata)) return { requeueAfterMs: TURN_MS };
    this.#start(object);
    return undefined;
  }

  #hasRoom({ namespace }: Pick<ResourceObject['metadata'], 'namespace'>): boolean {
    const beside = [...this.#runs.values()].filter((run) => run.namespace === namespace);
    return this.#runs.size < RUNS_MAX && beside.length < RUNS_IN_NAMESPACE_MAX;
  }

  #start(object: ResourceObject): void {
    const { metrics, logger } = this.#parts;
    const { uid, namespace, name } = object.metadata;
    const control = new RunControl(specOf(object, 'Replay')?.state ?? 'Running');
    const ended = new ReplayRun(this.#parts, object, control)
      .run()
      .catch((error: unknown) => {
        logger.error({ err: error, namespace, replay: name }, 'a replay broke off; it is taken up again');
        return 'defect' as const;
      })
      .then((end) => {
        this.#runs.delete(uid);
        metrics.running.set(this.#runs.size);
        if (end === 'over' && this.#parts.objects.has(uid)) this.#over.add(uid);
        else if (end === 'later') this.#queue.addAfter(uid, LATER_MS);
        else if (end === 'defect') this.#queue.addAfter(uid, DEFECT_MS);
      });
    this.#runs.set(uid, { namespace, control, ended });
    metrics.running.set(this.#runs.size);
  }

  async #removeLater(object: ResourceObject, completedAtMs: number): Promise<ReconcileResult | undefined> {
    const dueInMs = completedAtMs + LIMITS.replayKeptMs - this.#parts.clock.date().getTime();
    if (dueInMs > 0) return { requeueAfterMs: dueInMs };
    const { namespace, name } = object.metadata;
    try {
      await this.#parts.source.delete({ kind: 'Replay', namespace, name });
    } catch (error) {
      if (!(error instanceof SourceError) || error.kind !== 'NotFound') throw error;
    }
    return undefined;
  }
}
