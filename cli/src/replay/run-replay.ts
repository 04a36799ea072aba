import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '@standin/contract';
import { progressIn, type ReplaySpec, type ReplayStatus } from '@standin/crds';
import type { LogEntry } from '@standin/exchange';
import type { Filter } from '@standin/exchange/search';
import { asPlainError, PlainError } from '../plain-error.ts';
import { awaitStop } from '../shutdown.ts';
import { createOperation, persistently, statusReader } from '../server/follow-operation.ts';
import { isConfirmed, stderr, stdout, type Line } from '../terminal.ts';
import {
  formatResponse,
  formatFilterPlan,
  formatOnePlan,
  formatReplayProgress,
  formatResult,
} from './format-replay.ts';
import type { ReplayClient, ReplayRef } from './replay-client.ts';
import { checkSpec, newReplayName } from './replay-spec.ts';

interface RunReplayOptions {
  readonly to: ReplaySpec['target'];
  readonly rate: number;
  readonly ordered: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly output: 'text' | 'json';
  readonly colour: boolean;
}

export interface OneOptions extends RunReplayOptions {
  readonly id: string;
  readonly edit: ReplaySpec['edit'];
}

export interface ManyOptions extends RunReplayOptions {
  readonly project: ReplayRef;
  /** The search as the user typed it. */
  readonly search: string | undefined;
  readonly filter: Filter | undefined;
  /** In RFC 3339. */
  readonly range: { readonly from: string; readonly to: string };
  readonly limit: number;
}

const POLL_MS = 200;
const PROGRESS_MS = 1_000;
const FAILURES_SHOWN = 10;
/** How long to wait for a server that does not respond before the Replay starts and after it ends. While it runs, there is no limit. */
const OUTAGE_MS_MAX = 30_000;

const say = (lines: readonly Line[], colour = false): void => {
  for (const line of lines) stderr.line(line, colour);
};

/** Sends one captured request again and shows the response. Resolves with true if there was a response or with `dryRun`. */
export const replayOne = async (client: ReplayClient, options: OneOptions): Promise<boolean> => {
  const { id, edit, to, rate, dryRun, output, colour } = options;
  const entry = await client.request(id);
  if (entry === undefined)
    throw new PlainError(`there is no request ${id} in the log: list the ids with standin logs -o json`);
  const project = { namespace: entry.namespace, name: entry.project };
  const spec = checkSpec({
    projectRef: { name: entry.project },
    requestId: id,
    ...(edit !== undefined && { edit }),
    target: to,
    ratePerSecond: rate,
    order: 'Any',
    state: 'Running',
  });
  say(formatOnePlan(entry, spec), colour);
  if (dryRun) return true;
  const done = await carryOut(client, project, spec);
  if (output === 'text') return showOne(client, entry, done);
  const { path, status } = done;
  const replayed = await readEnded(() => client.replayed(path, id));
  stdout.json(replayed ?? { error: progressMessage(status) });
  return status.phase === 'Succeeded';
};

interface EndedReplay {
  /** The Replay's API path. */
  readonly path: string;
  readonly status: ReplayStatus;
}

/**
 * Reads a result of an ended Replay. If it cannot be read, prints the reason and resolves with undefined, because the exit code
 * depends only on whether the requests were sent.
 */
const readEnded = <T>(read: () => Promise<T>): Promise<T | undefined> =>
  persistently(performance.now() + OUTAGE_MS_MAX, read).catch((error: unknown) => {
    const plain = asPlainError(error);
    if (plain === undefined) throw error;
    say([`the results of the replay cannot be shown: ${plain.message}`]);
    return undefined;
  });

const showOne = async (client: ReplayClient, entry: LogEntry, { path, status }: EndedReplay): Promise<boolean> => {
  const replayed = await readEnded(() => client.replayed(path, entry.id));
  if (replayed === undefined) say([progressMessage(status)]);
  else {
    say(formatResponse(replayed, entry));
    const { body, bodyEncoding } = replayed.response;
    // A pipe gets the raw bytes. A terminal gets printable text only.
    if (!stdout.isTerminal) stdout.bytes(Buffer.from(body, bodyEncoding));
    else if (body !== '') stdout.lines(body);
  }
  return status.phase === 'Succeeded';
};

/**
 * Sends all requests that match a filter again, after a confirmation. Resolves with true if every request got a response, with
 * `dryRun`, or if no request matches.
 */
export const replayMany = async (client: ReplayClient, options: ManyOptions): Promise<boolean> => {
  const { project, search, filter, range, limit, to, rate, ordered, dryRun, yes, output, colour } = options;
  const spec = checkSpec({
    projectRef: { name: project.name },
    filter: { ...(search !== undefined && { search }), ...range, limit },
    target: to,
    ratePerSecond: rate,
    order: ordered ? 'Original' : 'Any',
    state: 'Running',
  });
  const plan = await client.plan(project, { search: filter, ...range });
  say(formatFilterPlan(plan, spec), colour);
  if (dryRun || plan.count === 0) return true;
  if (
    !yes &&
    !(await isConfirmed('Send?', 'cannot ask for confirmation without a terminal: add --yes to send the requests'))
  )
    throw new PlainError('nothing was sent');
  const { path, status } = await carryOut(client, project, spec);
  if (output === 'json') stdout.json(status);
  else for (const line of formatResult(status)) stdout.line(line);
  const failures = await readEnded(() => client.failures(path, FAILURES_SHOWN));
  for (const { requestId, error } of failures ?? []) say([`  ${requestId}: ${error}`]);
  return status.phase === 'Succeeded';
};

const FINAL: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Failed', 'Cancelled']);

/**
 * Creates the Replay and follows it until it ends. Ctrl-C cancels it. Rejects with a `PlainError` if the Replay is deleted, and with
 * the exit code `EXIT_TIMEOUT` if it continues but cannot be followed.
 */
const carryOut = async (client: ReplayClient, project: ReplayRef, spec: ReplaySpec): Promise<EndedReplay> => {
  const ref = { namespace: project.namespace, name: newReplayName() };
  const title = `Replay ${ref.name}`;
  const path = client.path(ref, spec);
  await createOperation(performance.now() + OUTAGE_MS_MAX, title, () => client.create(ref, spec));
  const stop = awaitStop();
  stop.signal.addEventListener('abort', () => {
    say(['cancelling; requests in flight will finish (press Ctrl-C again to exit without waiting)']);
    persistently(Infinity, () => client.setState(path, 'Cancelled')).catch((error: unknown) => {
      say([`cannot cancel the replay: ${errorMessage(error)}`]);
    });
  });
  try {
    const read = statusReader(Infinity, { title, read: () => client.status(path) });
    return { path, status: await follow(read) };
  } finally {
    stop.done();
  }
};

const follow = async (read: () => Promise<ReplayStatus>): Promise<ReplayStatus> => {
  let said = '';
  for (let saidAt = performance.now(); ;) {
    const status = await read();
    if (FINAL.has(status.phase)) return status;
    const progress = formatReplayProgress(status);
    if (performance.now() - saidAt >= PROGRESS_MS && progress !== said) {
      say([progress]);
      said = progress;
      saidAt = performance.now();
    }
    await delay(POLL_MS);
  }
};

const progressMessage = ({ conditions }: ReplayStatus): string =>
  progressIn(conditions)?.message ?? 'the replay ended without a message';
