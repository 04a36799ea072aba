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
import type { ProgrammedState } from '../gateways/gateway-process.ts';
import type { Audited } from '../quota/quota-audit.ts';
import { quotaFinding, shownUsage, type QuotaUsage } from '../quota/usage.ts';
import { isOlder } from '../resource-version.ts';
import type { Finding, Verdict } from '../translate/index.ts';
import { conditionOf, conditionsOf, programmedFinding } from './conditions.ts';
import { statusDifference, type StatusFields } from './status-difference.ts';
import { isSameKey } from './status-fields.ts';

/** The writer's view of the rest of the operator. All of it is in memory. */
interface StatusInputs {
  object(uid: string): ResourceObject | undefined;
  verdict(uid: string): Verdict | undefined;
  /** Undefined if the gateways get nothing of the object. */
  programmed(key: ConfigKey): ProgrammedState | undefined;
  /** Fields of `status` that are neither conditions nor part of the verdict, such as counts. */
  fields(verdict: Verdict, before: StatusFields, now: string): StatusFields;
  /** The usage of an Account's quota. Undefined if unknown. */
  usage(uid: string): QuotaUsage | undefined;
  /** The audit's result for an Account's quota. Undefined if no audit has run yet. */
  audited(uid: string): Audited | undefined;
}

/** The result of a status write. */
export interface StatusWritten {
  readonly ref: ObjectRef;
  readonly uid: string;
  readonly conditions: readonly Condition[];
  readonly ready: boolean;
  /** False if the status was already up to date. */
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

/** The conditions in a status. Empty if they do not have the form of conditions. */
export const conditionsIn = (status: unknown): readonly Condition[] =>
  statusSchema.parse(status ?? {}).conditions as unknown as readonly Condition[];

/**
 * Writes the status of one object, only if it differs, and never its spec (design §3). Each write is conditional on the version
 * that it was compared with. So it can neither affect a new object of the same name nor undo a newer change.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  /** The last written objects, until the source's own view includes them. */
  readonly #written = new Map<string, Seen>();
  /** The last Event of each object, so that each (generation, reason) is reported once. */
  readonly #told = new Map<string, string>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  forget(uid: string): void {
    this.#written.delete(uid);
    this.#told.delete(uid);
  }

  /** The source reports an object. True if the report only reflects this writer's last write. */
  isEcho({ metadata: { uid, resourceVersion } }: ResourceObject): boolean {
    if (this.#written.get(uid)?.metadata.resourceVersion !== resourceVersion) return false;
    this.#written.delete(uid);
    return true;
  }

  /** Resolves to undefined if the object was deleted or changed. The source is about to report that. */
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
    // Another key is different content, although the generation is the same.
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

  /** While nothing is known in this term, the earlier conditions remain. */
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

  /** Reports what users should know before their callers notice. */
  async #tellQuota(object: ResourceObject, before: readonly Condition[], after: readonly Condition[]): Promise<void> {
    for (const { type, reason, message } of after) {
      if (!TELLING.has(reason) || before.some((earlier) => earlier.type === type && earlier.reason === reason))
        continue;
      await this.#options.source.recordEvent(object, { type: 'Warning', reason, message });
    }
  }

  /** Writes one Warning for each (object, generation, reason), and nothing in the steady state. */
  async #tell(object: ResourceObject, verdict: Verdict, conditions: readonly Condition[]): Promise<void> {
    const ready = conditions.find(({ type }) => type === 'Ready');
    if (ready === undefined || ready.status === 'True' || TRANSIENT.has(ready.reason)) return;
    const telling = `${verdict.generation} ${ready.reason}`;
    if (this.#told.get(verdict.uid) === telling) return;
    this.#told.set(verdict.uid, telling);
    await this.#options.source.recordEvent(object, { type: 'Warning', reason: ready.reason, message: ready.message });
  }
}

/** Reasons of conditions about quotas that are reported. */
const TELLING: ReadonlySet<string> = new Set(['QuotaNearlyUsedUp', 'QuotaUsedUp', 'QuotaMismatch']);

/** Reasons that resolve by themselves while gateways catch up. */
const TRANSIENT: ReadonlySet<string> = new Set(['NotProgrammed', 'PartiallyProgrammed', 'Pending', 'NoGateway']);

export const isReady = ({ type, status }: Pick<Condition, 'type' | 'status'>): boolean =>
  type === 'Ready' && status === 'True';

const statusOf = ({ status }: Pick<Seen, 'status'>): StatusFields =>
  typeof status === 'object' && status !== null ? (status as StatusFields) : {};
