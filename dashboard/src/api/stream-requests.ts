import { tailLog, tailSummaries } from '@standin/logstore';
import type { Filter } from '@standin/exchange/search';
import type { ProjectLog } from '../backend.ts';
import { ApiProblem, problemBody } from './problems.ts';
import { toRequestSummary, type View } from './request-views.ts';
import { writeJson, type Write } from './route.ts';
import { toProblem } from './to-problem.ts';

export interface StreamOptions {
  readonly search?: Filter | undefined;
  /** In microseconds since the epoch. */
  readonly sinceUs?: number | undefined;
  readonly view: View;
  /** Last event id of the previous stream. */
  readonly lastEventId?: string | undefined;
}

/** The interval of heartbeats. They keep the connection open, because proxies close idle connections. */
const HEARTBEAT_MS = 15_000;
const RETRY_MS = 1_000;
/** How often an outage is reported while it lasts. The first report is immediate. */
const PROBLEM_INTERVAL_MS = 30_000;

/**
 * The start of a stream, in microseconds since 1970, and the ClickHouse insert time up to which its client has received everything,
 * in milliseconds.
 */
interface Position {
  readonly sinceUs: number;
  readonly insertedMs: number;
}

const formatPosition = ({ sinceUs, insertedMs }: Position): string => `${sinceUs}.${insertedMs}`;

const parsePosition = (text: string): Position => {
  const [, sinceUs, insertedMs] = /^(\d{1,16})\.(\d{1,15})$/.exec(text) ?? [];
  if (sinceUs !== undefined && insertedMs !== undefined)
    return { sinceUs: Number(sinceUs), insertedMs: Number(insertedMs) };
  const name = 'last-event-id';
  const message = 'must be the id of an event from this stream';
  throw new ApiProblem('parameter_invalid', `${name}: ${message}`, { errors: [{ name, message }] });
};

/** Sends captured requests as server-sent events until `signal` aborts. */
export const streamRequests = async (
  log: ProjectLog,
  { search, sinceUs = Date.now() * 1_000, view, lastEventId }: StreamOptions,
  write: Write,
  signal: AbortSignal,
): Promise<void> => {
  let position = lastEventId === undefined ? { sinceUs, insertedMs: 0 } : parsePosition(lastEventId);
  const filter = {
    projectUid: log.projectUid,
    search,
    sinceUs: position.sinceUs,
    ...(position.insertedMs > 0 && { insertedSince: new Date(position.insertedMs) }),
  };
  // An event without data only updates the client's position.
  const sendPosition = (): Promise<void> => write(`id: ${formatPosition(position)}\n\n`);
  let isSending = false;
  const send: SendEvent = async (type, data) => {
    isSending = true;
    await writeEvent(write, type, data);
    isSending = false;
  };
  const options = {
    onFailure: problemNotifier(send),
    onCaughtUp: async (insertedMs: number): Promise<void> => {
      if (insertedMs === position.insertedMs) return;
      position = { ...position, insertedMs };
      await sendPosition();
    },
  };
  await write(`retry: ${RETRY_MS}\n`);
  await sendPosition();
  // A large event is written in pieces, and nothing else may be written between them.
  const beat = (): void => {
    // A write that is refused ends the stream at the next event.
    if (!isSending) write(':\n\n').catch(() => undefined);
  };
  const heartbeat = setInterval(beat, HEARTBEAT_MS);
  try {
    if (view === 'entry') for await (const entry of tailLog(log, filter, signal, options)) await send('request', entry);
    else
      for await (const summary of tailSummaries(log, filter, signal, options))
        await send('request', toRequestSummary(summary));
  } finally {
    clearInterval(heartbeat);
  }
};

type EventType = 'request' | 'problem';
type SendEvent = (type: EventType, data: unknown) => Promise<void>;

/** Writes one event. The JSON contains no line breaks, so one `data` line is enough. */
const writeEvent = async (write: Write, type: EventType, data: unknown): Promise<void> => {
  await write(`event: ${type}\ndata: `);
  await writeJson(write, data);
  await write('\n\n');
};

/**
 * Returns a function that notifies the client if the log is unavailable. The stream continues afterwards. Any other error ends the
 * stream.
 */
const problemNotifier = (send: SendEvent): ((error: unknown) => Promise<void>) => {
  let saidAt = -Infinity;
  return async (error) => {
    const problem = toProblem(error);
    if (problem?.code !== 'log_unavailable') throw error;
    if (performance.now() - saidAt < PROBLEM_INTERVAL_MS) return;
    saidAt = performance.now();
    await send('problem', problemBody(problem));
  };
};
