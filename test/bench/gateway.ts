import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../harness/eventually.ts';
import { freePorts } from '../harness/ports.ts';
import { startProcess, type RunningProcess } from '../harness/processes.ts';
import { json, Stand } from '../torture/stand.ts';
import type { LoadResult } from './load.ts';
import { cpuTime, pinToCore, printMeasurements, printTable } from './machine.ts';
import { runLoad } from './run-load.ts';

const SERVER_CORE = 0;
/** The load generator's and ClickHouse's. */
const OTHER_CORE = 1;
const CONNECTIONS = 64;
const ROUNDS = 3;
const ROUND_SECONDS = 6;
const WARM_UP_SECONDS = 3;
const REQUEST_BODY_BYTES = 256;
const ANSWER_BODY_BYTES = 834;
/** Requests/s to bare Node's, for each durability. */
const RATIOS_MIN = { disk: 0.4, process: 0.5 } as const;
type Durability = keyof typeof RATIOS_MIN;
const DURABILITIES = ['disk', 'process'] as const;
const nameOf = (durability: Durability): string => `Standin (${durability})`;

interface Contender {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly request: string;
}

interface Round extends LoadResult {
  readonly cpuMicrosPerRequest: number;
  /** Part of the round's time that the server ran, and that it was kept waiting by something else on its core. */
  readonly coreShare: number;
  readonly coreWaited: number;
}

const load = ({ port, request }: Contender, seconds: number): Promise<LoadResult> =>
  runLoad({ port, requests: [request], seconds, connections: CONNECTIONS }, OTHER_CORE);

const measure = async (contender: Contender): Promise<Round> => {
  const before = await cpuTime(contender.pid);
  const result = await load(contender, ROUND_SECONDS);
  const after = await cpuTime(contender.pid);
  return {
    ...result,
    cpuMicrosPerRequest: ((after.ran - before.ran) / result.requests) * 1e6,
    coreShare: (after.ran - before.ran) / result.seconds,
    coreWaited: (after.waited - before.waited) / result.seconds,
  };
};

const jsonOfLength = (bytes: number): string => {
  const empty = '{"id":"018f2c5e-0000-7000-8000-000000000000","note":""}';
  return empty.replace('""}', `"${'x'.repeat(bytes - empty.length)}"}`);
};

const postOf = (target: string, headers: string): string =>
  `POST ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}` +
  `Content-Length: ${REQUEST_BODY_BYTES}\r\n\r\n${jsonOfLength(REQUEST_BODY_BYTES)}`;

const startRival = async (kind: 'bare' | 'fastify', port: number, bodyFile: string): Promise<RunningProcess> => {
  const rival = startProcess({ name: kind, main: 'test/bench/rival-server.ts', args: [kind, String(port), bodyFile] });
  await rival.waitForUrl(`http://127.0.0.1:${port}/`);
  return rival;
};

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Prints a line for each. Returns requests/s to bare Node's, by name. */
const report = (
  contenders: readonly Contender[],
  rounds: ReadonlyMap<string, readonly Round[]>,
): ReadonlyMap<string, number> => {
  const perSecond = (name: string) =>
    median((rounds.get(name) ?? []).map(({ requests, seconds }) => requests / seconds));
  const bare = perSecond('bare Node http');
  printTable(
    contenders.map(({ name }) => {
      const own = rounds.get(name) ?? [];
      return {
        server: name,
        'requests/s': Math.round(perSecond(name)),
        'ratio to bare': (perSecond(name) / bare).toFixed(2),
        'CPU µs/request': median(own.map((round) => round.cpuMicrosPerRequest)).toFixed(1),
        'ran %': (median(own.map(({ coreShare }) => coreShare)) * 100).toFixed(0),
        'kept waiting %': (median(own.map(({ coreWaited }) => coreWaited)) * 100).toFixed(0),
        'p50 ms': median(own.map(({ p50Ms }) => p50Ms)).toFixed(2),
        'p99 ms': median(own.map(({ p99Ms }) => p99Ms)).toFixed(2),
      };
    }),
  );
  return new Map(contenders.map(({ name }) => [name, perSecond(name) / bare]));
};

interface Entrant {
  readonly durability: Durability;
  readonly stand: Stand;
  answered: number;
}

/** A gateway with a log of its own, and the endpoint that is asked. */
const enter = async (durability: Durability, body: string): Promise<Entrant> => {
  const stand = await Stand.start({ env: { STANDIN_DURABILITY: durability } });
  await pinToCore(stand.enginePid, OTHER_CORE);
  const headers = [['content-type', 'application/json']] as const;
  await stand.publish({ slug: '/bench', method: 'POST', action: json(body, { headers }) });
  return { durability, stand, answered: 0 };
};

const contenderOf = ({ durability, stand }: Entrant): Contender => ({
  name: nameOf(durability),
  pid: stand.gateway.pid,
  port: stand.port,
  request: postOf(`/${stand.own.uri}/bench`, `x-api-key: ${stand.own.key}\r\n`),
});

/** Every answer has its row, in time. */
const storedRows = ({ stand, answered }: Entrant): Promise<number> =>
  eventually('the rows of all answers', () => stand.countRows(), {
    accept: (count) => count >= answered,
    timeoutMs: 60_000,
    intervalMs: 500,
  });

/** Requests per second of the gateway with capture on against bare Node and bare Fastify, in one run, rounds interleaved. */
export const benchGateway = async (): Promise<boolean> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'standin-bench-'));
  const bodyFile = path.join(directory, 'body.json');
  const body = jsonOfLength(ANSWER_BODY_BYTES);
  await writeFile(bodyFile, body);
  const [barePort = 0, fastifyPort = 0] = await freePorts(2);
  const bare = await startRival('bare', barePort, bodyFile);
  const fastify = await startRival('fastify', fastifyPort, bodyFile);
  const entrants: Entrant[] = [];
  try {
    await pinToCore(process.pid, OTHER_CORE);
    for (const durability of DURABILITIES) entrants.push(await enter(durability, body));
    const rivalRequest = postOf('/bench', '');
    const contenders: Contender[] = [
      { name: 'bare Node http', pid: bare.pid, port: barePort, request: rivalRequest },
      { name: 'bare Fastify', pid: fastify.pid, port: fastifyPort, request: rivalRequest },
      ...entrants.map(contenderOf),
    ];
    const rounds = await runRounds(contenders, entrants);
    console.log(
      `POST ${REQUEST_BODY_BYTES} B → ${ANSWER_BODY_BYTES} B JSON, ${CONNECTIONS} connections, server on core ${SERVER_CORE}, ` +
        `load generator and ClickHouse on core ${OTHER_CORE}; median of ${ROUNDS} interleaved rounds of ${ROUND_SECONDS} s\n`,
    );
    const ratios = report(contenders, rounds);
    console.log();
    const measurements = [];
    for (const entrant of entrants) {
      const name = nameOf(entrant.durability);
      const [ratio, ratioMin] = [ratios.get(name) ?? 0, RATIOS_MIN[entrant.durability]];
      const stored = await storedRows(entrant);
      measurements.push(
        {
          what: `requests/s, ${name} to bare Node`,
          measured: `${ratio.toFixed(2)} ×`,
          bar: `≥ ${ratioMin} ×`,
          met: ratio >= ratioMin,
        },
        {
          what: `rows of its answers`,
          measured: `${stored} of ${entrant.answered}`,
          bar: 'all, once',
          met: stored === entrant.answered,
        },
      );
    }
    printMeasurements(measurements);
    return measurements.every(({ met }) => met);
  } finally {
    for (const { stand } of entrants) await stand[Symbol.asyncDispose]();
    await Promise.all([bare.kill(), fastify.kill()]);
    await rm(directory, { recursive: true });
  }
};

/** Warms each up, then takes turns. What Standin answered is added to its entrant. */
const runRounds = async (
  contenders: readonly Contender[],
  entrants: readonly Entrant[],
): Promise<ReadonlyMap<string, readonly Round[]>> => {
  const count = ({ name }: Contender, { requests, refused }: LoadResult): void => {
    const entrant = entrants.find(({ durability }) => nameOf(durability) === name);
    if (entrant !== undefined) entrant.answered += requests - refused;
    if (refused > 0) console.log(`${name}: ${refused} answers were not 200`);
  };
  const rounds = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]));
  for (const contender of contenders) {
    await pinToCore(contender.pid, SERVER_CORE);
    count(contender, await load(contender, WARM_UP_SECONDS));
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const contender of contenders) {
      const result = await measure(contender);
      rounds.get(contender.name)?.push(result);
      count(contender, result);
    }
  }
  return rounds;
};
