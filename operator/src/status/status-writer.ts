import {
  type Condition,
  type ConditionType,
  type ConfigKey,
  type ObjectRef,
  type ResourceObject,
  type ResourceSource,
  SourceError,
  periodOf,
} from '@standin/contract';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ProgrammedState } from '../publish/gateway-registry.ts';
import type { Audited } from '../quota/quota-audit.ts';
import { quotaFinding, shownUsage, type QuotaUsage } from '../quota/usage.ts';
import { isOlder } from '../resource-version.ts';
import type { Finding, Verdict } from '../translate/index.ts';
import { conditionOf, conditionsOf, programmedFinding } from './conditions.ts';
import { statusDifference, type StatusFields } from './status-difference.ts';
import { isSameKey } from './status-fields.ts';

/** What the writer asks of the rest of the operator; all of it is in memory. */
interface StatusInputs {
  object(uid: string): ResourceObject | undefined;
  verdict(uid: string): Verdict | undefined;
  /** Undefined when nothing of the object is sent to gateways. */
  programmed(key: ConfigKey): ProgrammedState | undefined;
  /** Fields of `status` that are neither conditions nor the verdict's own, such as counts. */
  fields(verdict: Verdict, before: StatusFields, now: string): StatusFields;
  /** How an Account stands to its quota; undefined where nothing is known. */
  usage(uid: string): QuotaUsage | undefined;
  /** What the audit of quotas says of an Account; undefined where nobody has looked yet. */
  audited(uid: string): Audited | undefined;
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
  readonly clock?: () => Date;
}

type Seen = Pick<ResourceObject, 'metadata' | 'status'>;

const conditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string(),
  observedGeneration: z.number(),
  lastTransitionTime: z.string(),
});
const statusSchema = z
  .looseObject({ conditions: z.array(conditionSchema).catch([]).default([]) })
  .catch({ conditions: [] });

/** The conditions in a status as it was read; none when they are not in the form of conditions. */
export const conditionsIn = (status: unknown): readonly Condition[] =>
  statusSchema.parse(status ?? {}).conditions as unknown as readonly Condition[];

/**
 * Writes the status of one object: only when it differs from what is there, and never its spec (design §3). Each write is conditional
 * on the version that it was compared with: it can neither meet a namesake that was made anew, nor undo what is newer.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  /** What was written last, until the source's own view has caught up with it. */
  readonly #written = new Map<string, Seen>();
  /** The last Event of each object, so that one (generation, reason) is told once. */
  readonly #told = new Map<string, string>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  forget(uid: string): void {
    this.#written.delete(uid);
    this.#told.delete(uid);
  }

  /** The source shows an object; true if that is no more than our own last write. */
  isEcho({ metadata: { uid, resourceVersion } }: ResourceObject): boolean {
    if (this.#written.get(uid)?.metadata.resourceVersion !== resourceVersion) return false;
    this.#written.delete(uid);
    return true;
  }

  /** Resolves undefined when the object is gone, or has changed: then the source is about to show it. */
  async write(uid: string): Promise<StatusWritten | undefined> {
    const { source, inputs, logger, clock = () => new Date() } = this.#options;
    const object = inputs.object(uid);
    const verdict = inputs.verdict(uid);
    if (object === undefined || verdict === undefined) return undefined;

    const newest = this.#newest(uid, object);
    const now = clock()
      .toISOString()
      .replace(/\.\d{3}Z$/, 'Z');
    const { conditions, fields } = this.#desired(verdict, newest, now);
    const patch = statusDifference(statusOf(newest), { ...fields, observedGeneration: verdict.generation, conditions });
    const { ref } = verdict;
    const ready = conditions.some(isReady);
    const result = { ref, uid, conditions, ready, wrote: patch !== undefined };
    if (patch === undefined) return result;
    try {
      const { metadata, status } = await source.writeStatus(ref, patch, newest.metadata.resourceVersion);
      this.#written.set(uid, { metadata, status });
    } catch (error) {
      const isOutdated = error instanceof SourceError && (error.kind === 'NotFound' || error.kind === 'Conflict');
      if (!isOutdated) throw error;
      this.#written.delete(uid);
      return undefined;
    }
    logger.debug({ ...ref, generation: verdict.generation }, 'status written');
    await this.#tell(object, verdict, conditions);
    await this.#tellQuota(object, conditionsIn(newest.status), conditions);
    return result;
  }

  #desired(verdict: Verdict, { status }: Seen, now: string): { conditions: Condition[]; fields: StatusFields } {
    const { inputs } = this.#options;
    const before = statusOf({ status });
    const conditionsBefore = conditionsIn(status);
    const fields = { ...verdict.status, ...inputs.fields(verdict, before, now) };
    // Another key is other content, though the generation is the same.
    const standing = isSameKey(before, fields)
      ? conditionsBefore.find(
          ({ type, observedGeneration }) => type === 'Programmed' && observedGeneration === verdict.generation,
        )
      : undefined;
    const state = verdict.configKey === undefined ? undefined : inputs.programmed(verdict.configKey);
    const programmed = programmedFinding(state, standing);
    const quota = this.#quotaConditions(verdict, before, now);
    return { conditions: [...conditionsOf(verdict, programmed, conditionsBefore, now), ...quota], fields };
  }

  /** While nothing is known in this term, what was said before stands. */
  #quotaConditions({ uid, quota, generation }: Verdict, status: StatusFields, now: string): Condition[] {
    if (quota === undefined) return [];
    const before = conditionsIn(status);
    const period = periodOf(Date.parse(now));
    const { inputs } = this.#options;
    const usage = shownUsage(inputs.usage(uid), status, { quota, period });
    const audited = inputs.audited(uid);
    const said = (type: ConditionType, finding: Finding): Condition =>
      conditionOf(type, finding, { generation, before, now });
    const standing = (wanted: ConditionType): Condition[] => before.filter(({ type }) => type === wanted);
    return [
      ...(usage === undefined ? standing('QuotaAvailable') : [said('QuotaAvailable', quotaFinding(usage))]),
      ...(audited === undefined ? standing('QuotaMismatch') : []),
      ...(audited?.mismatch === undefined ? [] : [said('QuotaMismatch', audited.mismatch)]),
    ];
  }

  #newest(uid: string, seen: ResourceObject): Seen {
    const written = this.#written.get(uid);
    if (written !== undefined && isOlder(seen, written)) return written;
    this.#written.delete(uid);
    return seen;
  }

  /** What people should hear of before their callers do. */
  async #tellQuota(object: ResourceObject, before: readonly Condition[], after: readonly Condition[]): Promise<void> {
    for (const { type, reason, message } of after) {
      if (!TELLING.has(reason) || before.some((earlier) => earlier.type === type && earlier.reason === reason))
        continue;
      await this.#options.source.recordEvent(object, { type: 'Warning', reason, message });
    }
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

/** Reasons of conditions about quotas. */
const TELLING: ReadonlySet<string> = new Set(['QuotaNearlyUsedUp', 'QuotaUsedUp', 'QuotaMismatch']);

/** Reasons that pass by themselves while gateways catch up. */
const TRANSIENT: ReadonlySet<string> = new Set(['NotProgrammed', 'PartiallyProgrammed', 'Pending', 'NoGateway']);

export const isReady = ({ type, status }: Pick<Condition, 'type' | 'status'>): boolean =>
  type === 'Ready' && status === 'True';

const statusOf = ({ status }: Pick<Seen, 'status'>): StatusFields =>
  typeof status === 'object' && status !== null ? (status as StatusFields) : {};
