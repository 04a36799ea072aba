import {
  configKey,
  isIdentified,
  type Condition,
  type ConditionType,
  type ConfigKey,
  type ObjectRef,
  type Events,
  type Objects,
  type ResourceObject,
  periodAt,
} from '@standin/contract';
import { readStatus } from '@standin/crds';
import type { Logger } from 'pino';
import type { ProgrammedState } from '../gateways/gateway-record.ts';
import type { Audited } from '../quota/quota-audit.ts';
import { quotaFinding, shownUsage, type QuotaUsage } from '../quota/usage.ts';
import type { Verdict } from '../translate/index.ts';
import {
  nextCondition,
  nextConditions,
  conditionContext,
  isReady,
  programmedFinding,
  STALLING,
  withdrawnFinding,
  type ConditionContext,
} from './conditions.ts';
import { isSameKey, keptSecrets } from './status-fields.ts';
import { StatusWriter, currentStatus, type StatusFields } from './status-writer.ts';

/** The facts that the other parts of the operator know, all of them in memory. */
interface StatusInputs {
  object(uid: string): ResourceObject | undefined;
  verdict(uid: string): Verdict | undefined;
  /** See `GatewayController.programmed`. */
  programmed(key: ConfigKey): ProgrammedState | undefined;
  /** See `GatewayStates.withdrawn`. */
  withdrawn(key: ConfigKey): ProgrammedState | undefined;
  /** Returns the fields of `status` that are neither conditions nor part of the verdict, such as counts. */
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
  /** The URL of a Project or an Endpoint, if it has one. */
  readonly url?: string | undefined;
  /** False if the status was already up to date. */
  readonly wrote: boolean;
  /** The object must be checked again after this time, because its fault is reported only if it lasts. */
  readonly recheckAfterMs?: number | undefined;
}

export interface ServedStatusOptions {
  readonly objects: Pick<Objects, 'writeStatus'>;
  readonly events: Events;
  readonly inputs: StatusInputs;
  readonly logger: Logger;
  readonly clock?: () => Date;
}

/** The statuses of Accounts, Projects and Endpoints, and the Events about them. Objects are identified by uid. */
export class ServedStatus {
  readonly #options: ServedStatusOptions;
  readonly #writer: StatusWriter;
  /** The fault of each object, so that each (generation, reason) is reported once. */
  readonly #faults = new Map<string, Fault>();

  constructor(options: ServedStatusOptions) {
    this.#options = options;
    this.#writer = new StatusWriter(options.objects);
  }

  forget(uid: string): void {
    this.#writer.forget(uid);
    this.#faults.delete(uid);
  }

  /** Returns whether a report from the source only reflects the last write. */
  isEcho(object: ResourceObject): boolean {
    return this.#writer.isEcho(object);
  }

  /**
   * Writes the status if it is out of date, and records the Events about it. Resolves with undefined if the object was deleted or
   * changed, which the source is about to report.
   */
  async write(uid: string): Promise<StatusWritten | undefined> {
    const { inputs, logger, clock = () => new Date() } = this.#options;
    const object = inputs.object(uid);
    const verdict = inputs.verdict(uid);
    if (object === undefined || verdict === undefined) return undefined;

    const newest = this.#writer.newest(object);
    const { ref, generation } = verdict;
    const now = clock();
    const context = { ...conditionContext(newest, now), generation };
    const before = currentStatus(newest);
    const { conditions, fields } = this.#desired(verdict, before, context);
    const result = await this.#writer.write(newest, {
      ...fields,
      ...identityField(object),
      observedGeneration: generation,
      conditions,
    });
    if (result === 'outdated') return undefined;
    const wrote = result === 'written';
    if (wrote) {
      logger.debug({ ...ref, generation }, 'status written');
      await this.#reportQuota(object, context.before, conditions);
      await this.#reportLive(object, context.before, conditions);
      await this.#reportMove(object, before, fields);
    }
    const recheckAfterMs = await this.#reportFault({ object, generation, conditions, wrote, nowMs: now.getTime() });
    // The object was deleted in the meantime.
    if (inputs.object(uid) === undefined) this.forget(uid);
    const url = typeof fields['url'] === 'string' ? fields['url'] : undefined;
    return { ref, uid, conditions, ready: conditions.some(isReady), url, wrote, recheckAfterMs };
  }

  #desired(
    verdict: Verdict,
    before: StatusFields,
    context: ConditionContext,
  ): { conditions: Condition[]; fields: StatusFields } {
    const { inputs } = this.#options;
    const fields = { ...verdict.status, ...inputs.fields(verdict, before, context.now) };
    // A different key or secret counts as different content, although the generation is the same.
    const standing = isSameKey(before, fields)
      ? context.before.find(
          ({ type, observedGeneration }) => type === 'Programmed' && observedGeneration === verdict.generation,
        )
      : undefined;
    const { uid, ref } = verdict;
    const key = configKey({ kind: ref.kind, uid });
    const isWithdrawn = verdict.configKey === undefined;
    // Gateways also have an Endpoint that is not accepted, to refuse its requests. That they have it makes nothing of it work.
    const state = isWithdrawn ? inputs.withdrawn(key) : inputs.programmed(key);
    const programmed = isWithdrawn ? withdrawnFinding(state) : programmedFinding(state, standing);
    const kept = programmed.ok || state === undefined ? {} : keptSecrets(before);
    const quota = this.#quotaConditions(verdict, before, context);
    const conditions = nextConditions(verdict, programmed, context.before, context.now);
    return { conditions: [...conditions, ...quota], fields: { ...fields, ...kept } };
  }

  /** Returns the conditions about quotas. The earlier conditions remain while nothing is known in this term. */
  #quotaConditions({ uid, quota }: Verdict, status: StatusFields, context: ConditionContext): Condition[] {
    if (quota === undefined) return [];
    const { inputs } = this.#options;
    const usage = shownUsage(inputs.usage(uid), status, { quota, period: periodAt(Date.parse(context.now)) });
    const audited = inputs.audited(uid);
    const standing = (wanted: ConditionType): Condition[] => context.before.filter(({ type }) => type === wanted);
    return [
      ...(usage === undefined
        ? standing('QuotaAvailable')
        : [nextCondition('QuotaAvailable', quotaFinding(usage), context)]),
      ...(audited === undefined ? standing('QuotaMismatch') : []),
      ...(audited?.mismatch === undefined ? [] : [nextCondition('QuotaMismatch', audited.mismatch, context)]),
    ];
  }

  /** Reports quota problems that users should know about before their callers notice. */
  async #reportQuota(object: ResourceObject, before: readonly Condition[], after: readonly Condition[]): Promise<void> {
    for (const { type, reason, message } of after) {
      if (!REPORTED.has(reason) || before.some((earlier) => earlier.type === type && earlier.reason === reason))
        continue;
      await this.#options.events.record(object, { type: 'Warning', reason, message });
    }
  }

  /** Reports that an object is live, once each time that it becomes Ready. */
  async #reportLive(object: ResourceObject, before: readonly Condition[], after: readonly Condition[]): Promise<void> {
    const ready = after.find(isReady);
    if (ready === undefined || before.some(isReady)) return;
    await this.#options.events.record(object, { type: 'Normal', reason: ready.reason, message: ready.message });
  }

  /** Reports that a Project got another URI, because callers of the old URI get 404. */
  async #reportMove(object: ResourceObject, before: StatusFields, after: StatusFields): Promise<void> {
    const [from, to] = [readStatus('Project', before), readStatus('Project', after)];
    if (object.kind !== 'Project' || from.uri === undefined || to.uri === undefined || from.uri === to.uri) return;
    const message =
      `spec.uri was set, so the Project’s URLs now begin with ${to.url ?? to.uri} instead of ${from.url ?? from.uri}: ` +
      'requests to the old URLs get 404. Give callers the new ones.';
    await this.#options.events.record(object, { type: 'Warning', reason: 'UriChanged', message });
  }

  /**
   * Writes one Warning for each combination of object, generation and reason, and nothing in the steady state. A fault that may
   * resolve by itself is reported only if it lasts. Returns the time until such a fault must be checked again.
   */
  async #reportFault({ object, generation, conditions, wrote, nowMs }: FaultCheck): Promise<number | undefined> {
    const { uid } = object.metadata;
    const ready = conditions.find(({ type }) => type === 'Ready');
    if (ready === undefined || ready.status === 'True') {
      this.#faults.delete(uid);
      return undefined;
    }
    const key = `${generation} ${ready.reason}`;
    let fault = this.#faults.get(uid);
    if (fault?.key !== key) {
      // If the status is up to date, an earlier leader wrote the status and reported the fault at the same time, unless that leader
      // held the report back. The earlier leader's term may have ended before a held report was sent, so a lasting fault is
      // reported again. The source recognizes repeats.
      fault = { key, sinceMs: nowMs, isReported: !wrote && STALLING.has(ready.reason) };
      this.#faults.set(uid, fault);
    }
    if (fault.isReported) return undefined;
    const holdMs = STALLING.has(ready.reason) ? 0 : FAULT_HOLD_MS;
    const remainingMs = Math.min(holdMs, fault.sinceMs + holdMs - nowMs);
    if (remainingMs > 0) return remainingMs;
    this.#faults.set(uid, { ...fault, isReported: true });
    await this.#options.events.record(object, { type: 'Warning', reason: ready.reason, message: ready.message });
    return undefined;
  }
}

/** The reason why an object is not Ready. */
interface Fault {
  /** Generation and reason. A fault with another key is a different fault. */
  readonly key: string;
  readonly sinceMs: number;
  readonly isReported: boolean;
}

interface FaultCheck {
  readonly object: ResourceObject;
  readonly generation: number;
  readonly conditions: readonly Condition[];
  /** False if the status was already up to date. */
  readonly wrote: boolean;
  readonly nowMs: number;
}

/**
 * A fault that may resolve by itself gets a Warning after this time. The time is long enough to apply a folder of manifests in
 * any order, and for gateways to acknowledge them.
 */
const FAULT_HOLD_MS = 10_000;

/** Returns the identity, which readers of the log find in the status. */
const identityField = ({ kind, metadata, identityFault }: ResourceObject): StatusFields =>
  isIdentified(kind) ? { id: identityFault === undefined ? metadata.uid : undefined } : {};

/** Condition reasons for quotas that are reported as Events. */
const REPORTED: ReadonlySet<string> = new Set(['QuotaNearlyUsedUp', 'QuotaUsedUp', 'QuotaMismatch']);
