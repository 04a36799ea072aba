import { LIMITS, objectRef, type ConditionReason, type Events, type ResourceObject } from '@standin/contract';
import type { ReconcileResult } from '@standin/kube';
import type { Logger } from 'pino';
import type { Counter } from 'prom-client';
import type { Controller } from '../controller.ts';
import { endedOperation, isPending, NO_LOG_STORE } from '../operations/operation-conditions.ts';
import { reconciler, type ReconcilerParts, type Run } from '../reconciler.ts';
import { conditionContext } from '../status/conditions.ts';
import { ACCEPTED, fails } from '../translate/findings.ts';
import type { Finding } from '../translate/index.ts';
import { deletedBy } from './deleted-by.ts';
import {
  decided,
  expectationStatus,
  open,
  pending,
  undetermined,
  type ExpectationFacts,
} from './expectation-report.ts';
import { OpenExpectations, type OpenExpectation, type OpenExpectationsOptions } from './open-expectations.ts';
import { planExpectation, type ReadyExpectation, type TimeRange } from './plan-expectation.ts';

export interface ExpectationControllerOptions
  extends ReconcilerParts, Pick<OpenExpectationsOptions, 'prepareStore' | 'settlement'> {
  readonly events: Events;
  /** Undefined if there is no log store. */
  readonly store: OpenExpectationsOptions['store'] | undefined;
  /** The finding for a Project's `Accepted` condition. Undefined if it is not known. */
  readonly acceptedFinding: (projectUid: string) => Finding | undefined;
  /** Counts the Expectations that have ended, by `result`. */
  readonly ended: Pick<Counter, 'inc'>;
  /** Returns the current time in milliseconds since the epoch. */
  readonly clock?: () => number;
}

export interface ExpectationController extends Controller {
  /** The number of Expectations whose requests are counted. */
  readonly openCount: number;
}

const OUTDATED = { requeueAfterMs: 1_000 };
/** How often the operator looks whether a Project has been checked, which takes a moment at its start. */
const UNCHECKED_MS = 500;
/** How long an operator tries to decide an Expectation whose time was over when it started. */
const LATE_START_MS = 60_000;
/** Captured requests are kept for at least a day. An hour is a margin for a slow count. */
const COUNTABLE_MS = 23 * 60 * 60 * 1_000;
const PASSING: ReadonlySet<ConditionReason> = new Set(['Pending', 'LimitReached']);

/** Creates the controller of Expectations. Runs for one leader's term. */
export const expectationController = (options: ExpectationControllerOptions): ExpectationController => {
  const { store, cache, clock = Date.now } = options;
  const opened =
    store &&
    new OpenExpectations({
      ...options,
      store,
      clock,
      lost: ({ project, range }) =>
        replacedText(project, cache.find(objectRef(project))) ??
        deletedBy(cache.operationsFor(project, 'Purge'), range),
      onChange: (uid) => controller.enqueue(uid),
    });
  const expectations = new Expectations({ ...options, clock, opened });
  const controller = reconciler(options, {
    name: 'expectations',
    stage: 'expectations',
    kinds: ['Expectation'],
    concurrency: 8,
    backoff: { baseMs: 200, capMs: 30_000 },
    // Later reports need no check, because an Expectation's spec cannot change, and only this controller writes its status.
    when: ({ before }) => before === undefined,
    watch: {
      Project: ({ object, isRemoved }) =>
        isRemoved ? [] : [...cache.operationsFor(object, 'Expectation')].filter(isPending),
      Purge: ({ object, isRemoved }) => {
        if (isRemoved) opened?.purgeRemoved(object);
        return [];
      },
    },
    reconcile: (expectation, run) => expectations.reconcile(expectation, run),
    removed: ({ metadata }) => opened?.forget(metadata.uid, metadata.namespace),
  });
  return {
    ...controller,
    get openCount() {
      return opened?.size ?? 0;
    },
    stop: async () => {
      await Promise.all([controller.stop?.(), opened?.stop()]);
    },
  };
};

/** An Expectation keeps counting the requests of the Project with which it began. */
const replacedText = ({ metadata }: ResourceObject, now: ResourceObject | undefined): string | undefined =>
  now === undefined || now.metadata.uid === metadata.uid
    ? undefined
    : `Project ${metadata.name} has another identity than before, whose requests were not counted.`;

interface ExpectationsOptions extends ExpectationControllerOptions {
  readonly clock: () => number;
  readonly opened: OpenExpectations | undefined;
  readonly logger: Logger;
}

/** Decides Expectations once. Until then, everything is found out again by each leader. */
class Expectations {
  readonly #options: ExpectationsOptions;

  constructor(options: ExpectationsOptions) {
    this.#options = options;
  }

  async reconcile(expectation: ResourceObject, run: Run): Promise<ReconcileResult | undefined> {
    const { cache, acceptedFinding, opened, clock } = this.#options;
    const { uid, namespace } = expectation.metadata;
    if (endedOperation(expectation) !== undefined) {
      opened?.forget(uid, namespace);
      return undefined;
    }
    const report = (facts: ExpectationFacts): Promise<boolean> => this.#report(expectation, facts, run);
    // An Expectation that is counted keeps its Project.
    const plan = opened?.get(uid) ?? planExpectation(expectation, cache, acceptedFinding);
    if (plan.kind === 'refused') {
      const { finding } = plan;
      return (await report(undetermined(finding, finding.message))) ? undefined : OUTDATED;
    }
    // It may have been its turn.
    if (plan.kind === 'waiting') opened?.forget(uid, namespace);
    const obstacle = plan.kind === 'waiting' ? plan.finding : this.#track(uid, plan);
    const counted = opened?.get(uid);
    if (counted === undefined || obstacle !== undefined)
      return this.#wait(obstacle ?? fails('NoLogStore', NO_LOG_STORE), plan.range, report);
    const now = clock();
    const endsAtMs = latestEndMs(counted);
    const facts = countedFacts(counted, now >= endsAtMs);
    if (!(await report(facts))) return OUTDATED;
    if (facts.phase !== 'Open') return undefined;
    const deadlineInMs = counted.range.untilUs / 1_000 - now;
    if (deadlineInMs > 0) return { requeueAfterMs: deadlineInMs };
    opened?.settle(uid);
    return { requeueAfterMs: endsAtMs - now };
  }

  /** Begins to count. Returns what prevents that. */
  #track(uid: string, plan: ReadyExpectation): Finding | undefined {
    const { opened } = this.#options;
    if (opened === undefined) return fails('NoLogStore', NO_LOG_STORE);
    if (opened.get(uid) !== undefined || opened.track(uid, plan)) return undefined;
    const max = LIMITS.expectationsOpenPerNamespaceMax;
    const message = `The namespace already has ${max} open Expectations. This one is counted when one of them is decided or deleted.`;
    return fails('LimitReached', message);
  }

  /** Waits until the deadline, or longer for an obstacle that says nothing about the Project or its log. */
  async #wait(
    obstacle: Finding,
    range: TimeRange,
    report: (facts: ExpectationFacts) => Promise<boolean>,
  ): Promise<ReconcileResult | undefined> {
    const moreMs = PASSING.has(obstacle.reason) ? LIMITS.expectationUndecidedMsMax : 0;
    const leftMs = range.untilUs / 1_000 + moreMs - this.#options.clock();
    const againMs = obstacle.reason === 'Pending' ? UNCHECKED_MS : leftMs;
    if (leftMs > 0) return (await report(pending(obstacle, range))) ? { requeueAfterMs: againMs } : OUTDATED;
    const isWritten = await report(undetermined(obstacle, undecidedText(obstacle.message), range));
    return isWritten ? undefined : OUTDATED;
  }

  /** Writes the status. Resolves with false if the object was deleted or changed after it was read. */
  async #report(expectation: ResourceObject, facts: ExpectationFacts, { writeStatus }: Run): Promise<boolean> {
    const { clock, events, ended, opened, logger } = this.#options;
    const written = await writeStatus(expectationStatus(facts, conditionContext(expectation, new Date(clock()))));
    if (written === 'outdated') return false;
    const { type, reason, message } = facts.progress;
    if (type === 'Reconciling') return true;
    const { uid, namespace, name } = expectation.metadata;
    opened?.forget(uid, namespace);
    if (written === 'written') {
      ended.inc({ result: facts.phase.toLowerCase() });
      logger.info({ stage: 'expectations', namespace, name, result: facts.phase }, 'expectation decided');
      await events.record(expectation, { type: type === 'Met' ? 'Normal' : 'Warning', reason, message });
    }
    return true;
  }
}

/**
 * Returns when an Expectation ends in any case. An operator that starts later still counts, unless requests may have expired. In
 * milliseconds since the epoch.
 */
const latestEndMs = ({ range, trackedAtMs }: OpenExpectation): number =>
  Math.max(
    range.untilUs / 1_000 + LIMITS.expectationUndecidedMsMax,
    Math.min(trackedAtMs + LATE_START_MS, range.fromUs / 1_000 + COUNTABLE_MS),
  );

const countedFacts = ({ range, expected, outcome, obstacle }: OpenExpectation, isLate: boolean): ExpectationFacts => {
  if (outcome?.kind === 'undetermined') return undetermined(ACCEPTED, outcome.message, range);
  if (outcome !== undefined) return decided(range, expected, outcome);
  return isLate ? undetermined(ACCEPTED, undecidedText(obstacle), range) : open(range, expected, obstacle);
};

const undecidedText = (obstacle: string | undefined): string =>
  `It could not be determined how many requests matched. ${obstacle ?? 'The log did not become complete in time.'} Create another Expectation.`;
