import { isDeepStrictEqual } from 'node:util';
import {
  type Condition,
  type ConfigKey,
  type ObjectRef,
  type ResourceObject,
  type ResourceSource,
  SourceError,
} from '@standin/contract';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ProgrammedState } from '../publish/gateway-registry.ts';
import type { Verdict } from '../translate/index.ts';
import { conditionsOf } from './conditions.ts';

/** What the writer asks of the rest of the operator; all of it is in memory. */
export interface StatusInputs {
  object(uid: string): ResourceObject | undefined;
  verdict(uid: string): Verdict | undefined;
  /** Undefined when nothing of the object is sent to gateways. */
  programmed(key: ConfigKey): ProgrammedState | undefined;
  /** Fields of `status` that are neither conditions nor the verdict's own, such as counts. */
  extra(verdict: Verdict, before: Readonly<Record<string, unknown>>, now: string): Readonly<Record<string, unknown>>;
}

/** What became of an object's status. */
export interface StatusWritten {
  readonly ref: ObjectRef;
  readonly uid: string;
  readonly conditions: readonly Condition[];
  readonly ready: boolean;
  /** False when it already was as it should be. */
  readonly wrote: boolean;
}

export interface StatusWriterOptions {
  readonly source: ResourceSource;
  readonly inputs: StatusInputs;
  readonly logger: Logger;
  /** A leader that just began leaves `Programmed=True` of a generation alone until then: its gateways are still coming back. */
  readonly settledAtMs: number;
  readonly clock?: () => Date;
}

const conditionSchema = z.looseObject({ type: z.string(), status: z.string(), lastTransitionTime: z.string() });
const statusSchema = z.looseObject({
  observedGeneration: z.number().optional().catch(undefined),
  conditions: z.array(conditionSchema).optional().catch(undefined),
});

/**
 * Writes the status of one object: only when it differs from what is there, and never its spec (design §3). Runs as the worker of
 * a `WorkQueue` keyed by uid; a thrown error is retried by the queue.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  /** What was written last, for as long as the source's own view of it lags behind. */
  readonly #written = new Map<string, ResourceObject>();
  /** The last Event of each object, so that one (generation, reason) is told once. */
  readonly #told = new Map<string, string>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  forget(uid: string): void {
    this.#written.delete(uid);
    this.#told.delete(uid);
  }

  /** Resolves undefined when the object is gone, a number when the status has to wait for so many milliseconds. */
  async write(uid: string): Promise<StatusWritten | number | undefined> {
    const { source, inputs, logger, clock = () => new Date() } = this.#options;
    const object = inputs.object(uid);
    const verdict = inputs.verdict(uid);
    if (object === undefined || verdict === undefined) return undefined;

    const before = statusSchema.parse(this.#newest(uid, object).status ?? {});
    const programmed = verdict.configKey === undefined ? undefined : inputs.programmed(verdict.configKey);
    const unsettledMs = this.#options.settledAtMs - clock().getTime();
    if (unsettledMs > 0 && programmed?.kind !== 'programmed' && wasProgrammed(before, verdict.generation)) {
      return unsettledMs;
    }

    const now = clock()
      .toISOString()
      .replace(/\.\d{3}Z$/, 'Z');
    const conditions = conditionsOf(verdict, programmed, (before.conditions ?? []) as unknown as Condition[], now);
    const fields = { ...verdict.status, ...inputs.extra(verdict, before, now) };
    const patch = difference(before, { ...fields, observedGeneration: verdict.generation, conditions });
    const { ref } = verdict;
    const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    const result = { ref, uid, conditions, ready, wrote: patch !== undefined };
    if (patch === undefined) return result;
    try {
      this.#written.set(uid, await source.writeStatus(ref, patch));
    } catch (error) {
      if (error instanceof SourceError && error.kind === 'NotFound') return undefined;
      throw error;
    }
    logger.debug({ ...ref, generation: verdict.generation }, 'status written');
    await this.#tell(object, verdict, conditions);
    return result;
  }

  #newest(uid: string, seen: ResourceObject): ResourceObject {
    const written = this.#written.get(uid);
    if (written !== undefined && isOlder(seen, written)) return written;
    this.#written.delete(uid);
    return seen;
  }

  /** One Warning for each (object, generation, reason); nothing in the steady state. */
  async #tell(object: ResourceObject, verdict: Verdict, conditions: readonly Condition[]): Promise<void> {
    const ready = conditions.find(({ type }) => type === 'Ready');
    if (ready === undefined || ready.status === 'True' || TRANSIENT.has(ready.reason)) return;
    const telling = `${verdict.generation} ${ready.reason}`;
    if (this.#told.get(verdict.uid) === telling) return;
    this.#told.set(verdict.uid, telling);
    await this.#options.source.recordEvent(object, { type: 'Warning', reason: ready.reason, message: ready.message });
  }
}

/** Kubernetes' resource versions are decimal and grow (KEP-5504); so do the directory source's. */
const isOlder = (a: ResourceObject, b: ResourceObject): boolean =>
  BigInt(a.metadata.resourceVersion) < BigInt(b.metadata.resourceVersion);

/** Reasons that pass by themselves while gateways catch up. */
const TRANSIENT: ReadonlySet<string> = new Set(['NotProgrammed', 'PartiallyProgrammed', 'Pending', 'NoGateway']);

const wasProgrammed = (status: z.infer<typeof statusSchema>, generation: number): boolean =>
  status.observedGeneration === generation &&
  (status.conditions ?? []).some(({ type, status: value }) => type === 'Programmed' && value === 'True');

/** The merge patch from one status to another; undefined when there is nothing to do. Fields of others are left alone. */
const difference = (
  before: Readonly<Record<string, unknown>>,
  desired: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined => {
  const changed = Object.entries(desired).filter(
    ([name, value]) => !isDeepStrictEqual(before[name], value ?? undefined),
  );
  return changed.length === 0
    ? undefined
    : Object.fromEntries(changed.map(([name, value]) => [name, value === undefined ? null : value]));
};
