import {
  type Condition,
  type ConditionType,
  type ConfigKey,
  type ObjectRef,
  type ResourceObject,
  type ResourceSource,
  periodOf,
} from '@standin/contract';
import type { Logger } from 'pino';
import type { ProgrammedState } from '../gateways/gateway-process.ts';
import { isIdentified } from '../identity/identity.ts';
import type { Audited } from '../quota/quota-audit.ts';
import { quotaFinding, shownUsage, type QuotaUsage } from '../quota/usage.ts';
import type { Verdict } from '../translate/index.ts';
import {
  conditionOf,
  conditionsOf,
  contextOf,
  isReady,
  programmedFinding,
  type ConditionContext,
} from './conditions.ts';
import { isSameKey } from './status-fields.ts';
import { StatusWriter, statusFieldsOf, type StatusFields } from './status-writer.ts';

/** What the rest of the operator knows. All of it is in memory. */
interface StatusInputs {
  object(uid: string): ResourceObject | undefined;
  verdict(uid: string): Verdict | undefined;
  /** Returns undefined if the object is not sent to gateways. */
  programmed(key: ConfigKey): ProgrammedState | undefined;
  /** Fields of `status` that are neither conditions nor part of the verdict, such as counts. */
  fields(verdict: Verdict, before: StatusFields, now: string): StatusFields;
  /** Returns the usage of an Account's quota, or undefined if it is unknown. */
  usage(uid: string): QuotaUsage | undefined;
  /** Returns the audit's result for an Account's quota, or undefined if no audit has run yet. */
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

export interface ServedStatusOptions {
  readonly source: ResourceSource;
  readonly inputs: StatusInputs;
  readonly logger: Logger;
  readonly clock?: () => Date;
}

/** The statuses of Accounts, Projects and Endpoints, and the Events about them. Objects are identified by uid. */
export class ServedStatus {
  readonly #options: ServedStatusOptions;
  readonly #writer: StatusWriter;
  /** The last Event of each object, so that each (generation, reason) is reported once. */
  readonly #reported = new Map<string, string>();

  constructor(options: ServedStatusOptions) {
    this.#options = options;
    this.#writer = new StatusWriter(options.source);
  }

  forget(uid: string): void {
    this.#writer.forget(uid);
    this.#reported.delete(uid);
  }

  /** Returns whether a report from the source only reflects the last write. */
  isEcho(object: ResourceObject): boolean {
    return this.#writer.isEcho(object);
  }

  /** Resolves with undefined if the object was deleted or changed. The source is about to report that. */
  async write(uid: string): Promise<StatusWritten | undefined> {
    const { inputs, logger, clock = () => new Date() } = this.#options;
    const object = inputs.object(uid);
    const verdict = inputs.verdict(uid);
    if (object === undefined || verdict === undefined) return undefined;

    const newest = this.#writer.newest(object);
    const { ref, generation } = verdict;
    const context = { ...contextOf(newest, clock()), generation };
    const { conditions, fields } = this.#desired(verdict, statusFieldsOf(newest), context);
    const result = await this.#writer.write(newest, {
      ...fields,
      ...identityField(object),
      observedGeneration: generation,
      conditions,
    });
    if (result === 'outdated') return undefined;
    if (result === 'written') {
      logger.debug({ ...ref, generation }, 'status written');
      await this.#reportFault(object, verdict, conditions);
      await this.#reportQuota(object, context.before, conditions);
    }
    return { ref, uid, conditions, ready: conditions.some(isReady), wrote: result === 'written' };
  }

  #desired(
    verdict: Verdict,
    before: StatusFields,
    context: ConditionContext,
  ): { conditions: Condition[]; fields: StatusFields } {
    const { inputs } = this.#options;
    const fields = { ...verdict.status, ...inputs.fields(verdict, before, context.now) };
    // Another key is different content, although the generation is the same.
    const standing = isSameKey(before, fields)
      ? context.before.find(
          ({ type, observedGeneration }) => type === 'Programmed' && observedGeneration === verdict.generation,
        )
      : undefined;
    const state = verdict.configKey === undefined ? undefined : inputs.programmed(verdict.configKey);
    const programmed = programmedFinding(state, standing);
    const quota = this.#quotaConditions(verdict, before, context);
    return { conditions: [...conditionsOf(verdict, programmed, context.before, context.now), ...quota], fields };
  }

  /** Returns the conditions about quotas. The earlier ones remain while nothing is known in this term. */
  #quotaConditions({ uid, quota }: Verdict, status: StatusFields, context: ConditionContext): Condition[] {
    if (quota === undefined) return [];
    const { inputs } = this.#options;
    const usage = shownUsage(inputs.usage(uid), status, { quota, period: periodOf(Date.parse(context.now)) });
    const audited = inputs.audited(uid);
    const standing = (wanted: ConditionType): Condition[] => context.before.filter(({ type }) => type === wanted);
    return [
      ...(usage === undefined
        ? standing('QuotaAvailable')
        : [conditionOf('QuotaAvailable', quotaFinding(usage), context)]),
      ...(audited === undefined ? standing('QuotaMismatch') : []),
      ...(audited?.mismatch === undefined ? [] : [conditionOf('QuotaMismatch', audited.mismatch, context)]),
    ];
  }

  /** Reports what users should know before their callers notice. */
  async #reportQuota(object: ResourceObject, before: readonly Condition[], after: readonly Condition[]): Promise<void> {
    for (const { type, reason, message } of after) {
      if (!REPORTED.has(reason) || before.some((earlier) => earlier.type === type && earlier.reason === reason))
        continue;
      await this.#options.source.recordEvent(object, { type: 'Warning', reason, message });
    }
  }

  /** Writes one Warning for each (object, generation, reason), and nothing in the steady state. */
  async #reportFault(object: ResourceObject, verdict: Verdict, conditions: readonly Condition[]): Promise<void> {
    const ready = conditions.find(({ type }) => type === 'Ready');
    if (ready === undefined || ready.status === 'True' || TRANSIENT.has(ready.reason)) return;
    const report = `${verdict.generation} ${ready.reason}`;
    if (this.#reported.get(verdict.uid) === report) return;
    this.#reported.set(verdict.uid, report);
    await this.#options.source.recordEvent(object, { type: 'Warning', reason: ready.reason, message: ready.message });
  }
}

/** Readers of the log find it here. */
const identityField = ({ kind, metadata, identityFault }: ResourceObject): StatusFields =>
  isIdentified(kind) ? { id: identityFault === undefined ? metadata.uid : undefined } : {};

/** Reasons of conditions about quotas that are reported. */
const REPORTED: ReadonlySet<string> = new Set(['QuotaNearlyUsedUp', 'QuotaUsedUp', 'QuotaMismatch']);

/** Reasons that resolve by themselves while gateways catch up. */
const TRANSIENT: ReadonlySet<string> = new Set(['NotProgrammed', 'PartiallyProgrammed', 'Pending', 'NoGateway']);
