import { randomBytes } from 'node:crypto';
import { listText } from '@standin/contract';
import { progressIn, type ExpectationStatus } from '@standin/crds';
import { asPlainError, PlainError } from '../plain-error.ts';
import { createOperation, EXIT_TIMEOUT, followOperation } from '../server/follow-operation.ts';
import type { ProjectChoice } from '../server/projects.ts';
import { awaitStop } from '../shutdown.ts';
import { stderr, stdout } from '../terminal.ts';
import { EXIT } from './exit-codes.ts';
import type { ExpectClient, ExpectRequest } from './expect-client.ts';

export interface ExpectOptions extends ProjectChoice {
  /** The deadline of the request, as a number. */
  readonly deadlineMs: number;
  readonly output: 'text' | 'json';
}

/** How long to wait for a server that does not respond before the Expectation is created. */
const OUTAGE_MS_MAX = 30_000;
/** How long to wait for a decision after the deadline. An Expectation stays open if it is not known whether a request is missing. */
const UNDECIDED_MS_MAX = 60_000;

/**
 * Creates an Expectation and waits until it is decided. Resolves with true if it is met. Rejects with a `PlainError` whose exit code
 * is in `EXIT` if it cannot be created or decided.
 */
export const runExpect = async (
  client: ExpectClient,
  request: ExpectRequest,
  { deadlineMs, output, ...choice }: ExpectOptions,
): Promise<boolean> => {
  const name = `expect-${randomBytes(4).toString('hex')}`;
  const title = `Expectation ${name}`;
  const start = performance.now();
  const project = await client.choose(choice).catch(failWith(EXIT.notCreated));
  const remains = `To see its end, open Expectations in the dashboard, or get /api/v1${project}/expectations/${name}`;
  await createOperation(start + OUTAGE_MS_MAX, title, () => client.create(project, name, { choice, request })).catch(
    failWith(EXIT.notCreated, remains),
  );
  stderr.line(title);
  const stop = awaitStop();
  const isDecided = ({ phase }: ExpectationStatus): boolean => phase !== undefined && DECIDED.has(phase);
  try {
    const status = await followOperation<ExpectationStatus>(performance.now() + deadlineMs + UNDECIDED_MS_MAX, {
      title,
      read: () => (stop.signal.aborted ? Promise.resolve({}) : client.status(project, name)),
      hasEnded: (now) => stop.signal.aborted || isDecided(now),
      format: progressText,
    }).catch(failWith(EXIT.undecided, remains));
    if (!isDecided(status)) {
      const why = stop.signal.aborted ? 'stopped' : progressText(status);
      throw new PlainError(`${title} is not decided (${why}), and continues. ${remains}`, { exitCode: EXIT.undecided });
    }
    const { phase, matched, requestIds, nearMisses, from, until, decidedAt } = status;
    if (output === 'json')
      stdout.json({ expectation: name, phase, matched, requestIds, nearMisses, from, until, decidedAt });
    if (phase === 'Undetermined') throw new PlainError(progressText(status), { exitCode: EXIT.undecided });
    if (output === 'text') for (const line of formatEnd(status)) stdout.line(line);
    return phase === 'Met';
  } finally {
    stop.done();
  }
};

const DECIDED: ReadonlySet<string> = new Set(['Met', 'Unmet', 'Undetermined']);

/**
 * Returns a function that rethrows an error with an exit code. An object that may exist and continue is not decided, and `remains`
 * says where it is.
 */
const failWith =
  (exitCode: number, remains = '') =>
  (error: unknown): never => {
    const plain = asPlainError(error);
    if (plain === undefined) throw error;
    const continues = plain.exitCode === EXIT_TIMEOUT;
    throw new PlainError(continues ? `${plain.message}. ${remains}` : plain.message, {
      cause: error,
      exitCode: continues ? EXIT.undecided : exitCode,
    });
  };

/** Describes what an Expectation waits for, or its end. */
const progressText = ({ phase = 'Pending', conditions }: ExpectationStatus): string =>
  progressIn(conditions)?.message ?? `${phase}: the operator has not processed it yet`;

/** Describes the result, with the nearest requests. */
export const formatEnd = (status: ExpectationStatus): readonly string[] => {
  const { phase = 'Pending', nearMisses = [] } = status;
  return [
    `${phase}: ${progressText(status)}`,
    ...nearMisses.map(({ requestId, failed }) => `  ${requestId} does not meet ${listText(failed)}`),
  ];
};
