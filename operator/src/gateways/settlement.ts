import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS, SharedPool, type Settled, type SettledReport, type StreamMessage } from '@standin/contract';
import type { GatewayController } from './gateway-controller.ts';
import { processKey } from './gateway-record.ts';

export type { Settled };

type Project = Readonly<Record<'uid' | 'namespace', string>>;
type GatewayProcess = GatewayController['processes'][number];

/** Finds out whether the log of a Project has everything that the gateways have accepted. */
export interface Settlement {
  /**
   * Resolves when everything that the gateways accepted before this call is in the log, or with what is missing, in bounded time.
   * Concurrent calls share one question to the gateways.
   */
  settle(project: Project, signal: AbortSignal): Promise<Settled>;
}

export interface GatewaySettlementOptions {
  readonly gateways: Pick<GatewayController, 'processes' | 'isConnected'>;
  /** See `undelivered`. */
  readonly undelivered: (wanted: Parameters<GatewayController['undelivered']>[0]) => readonly string[];
  /** Sends a message to all gateways. */
  readonly log: { announce(message: Extract<StreamMessage, { type: 'settle' }>): void };
  readonly waitMs?: number;
}

/** What the gateways reported about a project. */
interface Reported {
  /** What is missing, in words for people. */
  readonly late: readonly string[];
  /** Whether the same question may soon have another answer. */
  readonly isPassing: boolean;
  /** The gateways whose time is not this operator's. */
  readonly skewed: readonly string[];
  readonly untilUs: number;
}

/** A question about one project. */
interface Question {
  readonly project: Project;
  readonly answered: PromiseWithResolvers<Reported>;
  readonly quarantined: Set<string>;
  readonly skewed: Set<string>;
  /** The processes that have not reported, by name and instance. Undefined until the gateways are asked. */
  missing: Map<string, GatewayProcess> | undefined;
  untilUs: number;
}

/** The questions of one message to the gateways, by the uid of the project. */
type Ask = ReadonlyMap<string, Question>;

/** How often to check whether the gateways that have not reported are still connected, and to repeat a question about a project. */
const RETRY_MS = 200;
/** A gateway that reconnects can miss a message, so the message is repeated at this interval. */
const REPEAT_MS = 1_000;

/** Asks the gateways whether the log has what they have accepted, for one leader's term (docs/internals/adr/045-settled-reads.md). */
export class GatewaySettlement implements Settlement {
  readonly #options: GatewaySettlementOptions;
  readonly #waitMs: number;
  readonly #calls = new SharedPool(LIMITS.settlesMax);
  readonly #asks = new Map<string, Ask>();
  /** The projects of the next message, which calls can still join. */
  #next: Map<string, Question> | undefined;
  #sentAt = -Infinity;

  constructor(options: GatewaySettlementOptions) {
    this.#options = options;
    this.#waitMs = options.waitMs ?? LIMITS.settleWaitMs;
  }

  async settle(project: Project, signal: AbortSignal): Promise<Settled> {
    const { late, skewed, untilUs } = await this.#settle(project, signal);
    const wrong = skewed.map((name) => `gateway ${name}, whose clock differs by more than a second`);
    const reasons = [...late, ...wrong];
    return reasons.length === 0 ? { settled: true, untilUs } : { settled: false, reasons };
  }

  /** Works like `settle`, for readers who need no time: a gateway may have the wrong time. */
  async complete(project: Project, signal: AbortSignal): Promise<Settled> {
    const { late, untilUs } = await this.#settle(project, signal);
    return late.length === 0 ? { settled: true, untilUs } : { settled: false, reasons: late };
  }

  /** Takes a gateway's report. Ignores reports that arrive too late. */
  report({ gateway: name, instance, sentUs, settled }: SettledReport): void {
    const isSkewed = Math.abs(sentUs / 1_000 - Date.now()) > LIMITS.clockSkewMsMax;
    for (const { ask, project, untilUs, hasQuarantine } of settled) {
      const question = this.#asks.get(ask)?.get(project);
      if (question?.missing?.delete(processKey(name, instance)) !== true) continue;
      question.untilUs = Math.min(question.untilUs, untilUs);
      if (hasQuarantine) question.quarantined.add(name);
      if (isSkewed) question.skewed.add(name);
      if (question.missing.size === 0) question.answered.resolve(reportedSoFar(question));
    }
  }

  async #settle(project: Project, signal: AbortSignal): Promise<Reported> {
    signal.throwIfAborted();
    using place = this.#calls.hold(project.namespace);
    if (place === undefined) return lacking(['too many questions about this namespace at the same time'], false);
    const untilMs = performance.now() + this.#waitMs;
    for (;;) {
      const reported = await this.#ask(project, untilMs, signal);
      const isOver = performance.now() + RETRY_MS >= untilMs;
      if (reported.late.length === 0 || !reported.isPassing || isOver) return reported;
      // A gateway that restarts, or looks for the new leader, is soon back.
      await delay(RETRY_MS, undefined, { signal });
    }
  }

  /** Joins the next question about the project, until this time. */
  async #ask(project: Project, untilMs: number, signal: AbortSignal): Promise<Reported> {
    this.#next ??= this.#schedule();
    const question = this.#next.get(project.uid) ?? newQuestion(project);
    this.#next.set(project.uid, question);
    const isAnswered = new AbortController();
    const waited = delay(untilMs - performance.now(), undefined, {
      signal: AbortSignal.any([signal, isAnswered.signal]),
    }).then(() => reportedSoFar(question));
    try {
      return await Promise.race([question.answered.promise, waited]);
    } finally {
      waited.catch(() => undefined);
      isAnswered.abort();
    }
  }

  #schedule(): Map<string, Question> {
    const dueMs = this.#sentAt + LIMITS.settleIntervalMs - performance.now();
    if (dueMs <= 0) setImmediate(() => this.#send());
    else setTimeout(() => this.#send(), dueMs);
    return new Map();
  }

  #send(): void {
    const { gateways, undelivered, log } = this.#options;
    const next = this.#next ?? new Map<string, Question>();
    this.#next = undefined;
    this.#sentAt = performance.now();
    const { processes } = gateways;
    // A gateway without a stream may soon be back. So may the first gateway.
    const isPassing = processes.length === 0 || processes.some(({ isConnected }) => !isConnected);
    const sentUs = Date.now() * 1_000;
    for (const [uid, question] of next) {
      const { namespace } = question.project;
      const late = undelivered({ projectUid: uid, namespace, before: -Infinity });
      question.untilUs = sentUs;
      question.missing = new Map(processes.map((process) => [processKey(process.name, process.instance), process]));
      if (late.length > 0) question.answered.resolve(lacking(late, isPassing));
      if (late.length > 0) next.delete(uid);
      else if (processes.length === 0) question.answered.resolve(reportedSoFar(question));
    }
    if (next.size === 0 || processes.length === 0) return;
    const id = randomUUID();
    this.#asks.set(id, next);
    const announce = (): void => log.announce({ type: 'settle', ask: id, projects: [...next.keys()] });
    const check = setInterval(() => this.#endCut(next), RETRY_MS);
    const repeat = setInterval(announce, REPEAT_MS);
    const over = setTimeout(() => {
      for (const question of next.values()) question.answered.resolve(reportedSoFar(question));
    }, this.#waitMs);
    for (const timer of [check, repeat, over]) timer.unref();
    void Promise.all(Array.from(next.values(), ({ answered }) => answered.promise)).then(() => {
      this.#asks.delete(id);
      for (const timer of [check, repeat, over]) clearTimeout(timer);
    });
    announce();
  }

  /** Ends the questions that a gateway will not answer, because it is not connected any longer. */
  #endCut(questions: Ask): void {
    const { gateways } = this.#options;
    for (const question of questions.values()) {
      const missing = [...(question.missing?.values() ?? [])];
      const isCut = missing.some(({ name, instance = '' }) => !gateways.isConnected(name, instance));
      if (isCut) question.answered.resolve({ ...reportedSoFar(question), isPassing: true });
    }
  }
}

const newQuestion = (project: Project): Question => ({
  project,
  answered: Promise.withResolvers(),
  quarantined: new Set(),
  skewed: new Set(),
  missing: undefined,
  untilUs: -Infinity,
});

const lacking = (late: readonly string[], isPassing: boolean): Reported => ({
  late,
  isPassing,
  skewed: [],
  untilUs: -Infinity,
});

const reportedSoFar = ({ missing, quarantined, skewed, untilUs }: Question): Reported => {
  if (missing === undefined) return lacking(['gateways that could not be asked in time'], false);
  return {
    late: [
      ...Array.from(missing.values(), ({ name }) => `gateway ${name}, which has not reported in time`),
      ...Array.from(quarantined, (name) => `gateway ${name}, which has files in quarantine`),
    ].sort(),
    isPassing: false,
    skewed: [...skewed].sort(),
    untilUs,
  };
};
