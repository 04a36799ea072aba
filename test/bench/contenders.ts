import { eventually } from '../harness/eventually.ts';
import { ask } from '../torture/raw-client.ts';
import { json, Stand } from '../torture/stand.ts';
import { lowerPriority, pinToCore } from './machine.ts';
import {
  MissingRivalError,
  startBare,
  startFastify,
  startMockoon,
  startWireMock,
  type Rival,
  type RivalOptions,
} from './rivals.ts';

export const SERVER_CORE = 0;
/** The core that the load generator and ClickHouse run on. */
export const OTHER_CORE = 1;
export const REQUEST_BODY_BYTES = 256;
export const ANSWER_BODY_BYTES = 834;
export const BARE = 'bare Node http';
const FASTIFY = 'bare Fastify';
export const MOCKOON = 'Mockoon';
export const WIREMOCK = 'WireMock';
const SLUG = '/bench';
const DELIVERED_TIMEOUT_MS = 600_000;
const MERGED_TIMEOUT_MS = 30_000;

export type Durability = 'disk' | 'process';

export const standinName = (durability: Durability): string => `Standin (${durability})`;

/** A server under test. All contenders respond to the same request body with the same status, content type and body. */
export interface Contender extends Rival {
  /** The complete request in Latin-1, as sent on the wire. */
  readonly request: string;
  /** Called before each round. Waits for the work that earlier rounds caused, or discards what they left. */
  settle(): Promise<void>;
  /** Returns the number of rows in the log. Returns undefined if the contender has no log. */
  readonly countRows: (() => Promise<number>) | undefined;
}

const jsonOfLength = (bytes: number): string => {
  const empty = '{"id":"018f2c5e-0000-7000-8000-000000000000","note":""}';
  return empty.replace('""}', `"${'x'.repeat(bytes - empty.length)}"}`);
};

export const postText = (target: string, headers: string, body: string): string =>
  `POST ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}` +
  `Content-Length: ${body.length}\r\n\r\n${body}`;

const requestBody = jsonOfLength(REQUEST_BODY_BYTES);

const fromRival = (rival: Rival): Contender => ({
  ...rival,
  request: postText(SLUG, '', requestBody),
  settle: () => rival.forget?.() ?? Promise.resolve(),
  countRows: undefined,
});

/** Waits until ClickHouse has all of the gateway's rows, then at most 30 s until its merges end. */
export const settled = async (stand: Stand): Promise<void> => {
  await eventually('the gateway to have delivered everything', () => stand.metric('standin_deliver_backlog_bytes'), {
    accept: (bytes) => bytes === 0,
    timeoutMs: DELIVERED_TIMEOUT_MS,
    intervalMs: 200,
  });
  const merges = () => stand.query('SELECT count() FROM system.merges FORMAT TSV');
  const isOver = (count: string): boolean => count.trim() === '0';
  // Merges may take a long time on a busy machine. After the timeout, the benchmark continues anyway.
  await eventually('the merges to end', merges, {
    accept: isOver,
    timeoutMs: MERGED_TIMEOUT_MS,
    intervalMs: 200,
  }).catch(() => undefined);
};

/** Starts a gateway with its own log. Its ClickHouse has a lower priority than the load generator, which runs on the same core. */
export const startStandin = async (durability: Durability, env: Readonly<Record<string, string>> = {}) => {
  const stand = await Stand.start({ env: { STANDIN_DURABILITY: durability, ...env } });
  await pinToCore(stand.enginePid, OTHER_CORE);
  await lowerPriority(stand.enginePid);
  await pinToCore(stand.gateway.pid, SERVER_CORE);
  return stand;
};

const enterStandin = async (durability: Durability, body: string): Promise<Contender> => {
  const stand = await startStandin(durability);
  const headers = [['content-type', 'application/json']] as const;
  await stand.publish({ slug: SLUG, method: 'POST', action: json(body, { headers }) });
  return {
    name: standinName(durability),
    pid: stand.gateway.pid,
    port: stand.port,
    request: postText(`/${stand.own.uri}${SLUG}`, `x-api-key: ${stand.own.key}\r\n`, requestBody),
    settle: () => settled(stand),
    countRows: () => stand.countRows(),
    stop: () => stand[Symbol.asyncDispose](),
  };
};

/** Throws unless the contender responds with status 200 and this JSON body. */
const assertSameResponse = async ({ name, port, request }: Contender, body: string): Promise<void> => {
  const answer = await ask(port, request);
  const [type = ''] = answer?.all('content-type') ?? [];
  const text = answer?.body.toString() ?? '';
  if (answer?.status === 200 && text === body && type.startsWith('application/json')) return;
  throw new Error(`${name} responds with ${answer?.status} ${type} ${text.slice(0, 200)}`);
};

export interface Contenders {
  /** The folder for files of the benchmark. */
  readonly directory: string;
  readonly contenders: readonly Contender[];
  /** The reason why each rival that is not among the contenders cannot run on this machine, by name. */
  readonly missing: ReadonlyMap<string, string>;
}

export interface ContendersOptions {
  /** The folder for the contenders' files. The caller removes the folder. */
  readonly directory: string;
  /** Whether to start Mockoon and WireMock. */
  readonly withRivals: boolean;
  /** Called with each contender when it has started, so that the caller can stop it even if a later contender fails to start. */
  readonly onStarted: (contender: Contender) => void;
}

/**
 * Starts all contenders. Each serves one request before the function returns. For a gateway, this request is one row in the log.
 */
export const startContenders = async ({ directory, withRivals, onStarted }: ContendersOptions): Promise<Contenders> => {
  const body = jsonOfLength(ANSWER_BODY_BYTES);
  const options: RivalOptions = { directory, slug: SLUG, body };
  const starts: Record<string, () => Promise<Contender>> = {
    [BARE]: async () => fromRival(await startBare(options)),
    [FASTIFY]: async () => fromRival(await startFastify(options)),
    [standinName('disk')]: () => enterStandin('disk', body),
    [standinName('process')]: () => enterStandin('process', body),
    ...(withRivals && {
      [MOCKOON]: async () => fromRival(await startMockoon(options)),
      [WIREMOCK]: async () => fromRival(await startWireMock(options)),
    }),
  };
  const contenders: Contender[] = [];
  const missing = new Map<string, string>();
  for (const [name, start] of Object.entries(starts)) {
    try {
      const contender = await start();
      onStarted(contender);
      await pinToCore(contender.pid, SERVER_CORE);
      await assertSameResponse(contender, body);
      contenders.push(contender);
    } catch (error) {
      if (!(error instanceof MissingRivalError)) throw error;
      missing.set(name, error.message);
      console.log(`${name} is skipped: ${error.message}`);
    }
  }
  return { directory, contenders, missing };
};
