import { eventually } from '../harness/eventually.ts';
import { json, Stand } from '../torture/stand.ts';
import { startClusterStand } from './cluster-stand.ts';
import {
  cpuSeconds,
  peakResidentMiB,
  percentile,
  printMeasurements,
  residentMiB,
  type Measurement,
} from './machine.ts';
import { runLoad } from './run-load.ts';
import { TARGETS } from './targets.ts';

const ENDPOINTS = 10_000;
const FEW_ENDPOINTS = 10;
const RESPONSES = 4;
const TARGET = TARGETS.scale;
const ROUNDS = 5;
const ROUND_SECONDS = 3;
const CONNECTIONS = 16;
/**
 * The number of endpoints that a round requests, spread over the whole table. It is the same for the small and the large table,
 * so that only the table's size differs.
 */
const REQUESTED = 10;

const atMost = (what: string, measured: number, max: number, unit: string): Measurement => ({
  what,
  measured: `${measured.toFixed(unit === 'MiB' ? 0 : 2)} ${unit}`,
  target: `≤ ${max} ${unit}`,
  met: measured <= max,
});

const measureCluster = async (): Promise<Measurement[]> => {
  await using stand = await startClusterStand();
  await stand.createEndpoints(0, ENDPOINTS);
  const [operator] = stand.deployment.operators;
  if (operator === undefined) throw new Error('no operator is deployed');
  const pids = stand.deployment.gateways.map(({ process }) => process.pid);
  const operatorMiB = await residentMiB(operator.process.pid);
  const operatorPeakMiB = await peakResidentMiB(operator.process.pid);
  const gatewaysMiB = await Promise.all(pids.map(residentMiB));
  const gatewaysPeakMiB = await Promise.all(pids.map(peakResidentMiB));

  const restarted = Date.now();
  await operator.process.restart();
  const leading = await operator.process.waitForEvent(
    'the new leader',
    (event) => event['msg'] === 'leading' && 'lease' in event,
    60_000,
  );
  await eventually('the snapshot on all gateways', () => stand.acknowledged(), {
    accept: (numbers) => numbers.length === pids.length && numbers.every((number) => number > 0),
    timeoutMs: 60_000,
    intervalMs: 20,
  });
  const snapshotSeconds = (Date.now() - Date.parse(String(leading['time']))) / 1_000;
  const restartedPeakMiB = await peakResidentMiB(operator.process.pid);
  const leadAfterMs = Date.parse(String(leading['time'])) - restarted;
  console.log(
    `peaks: operator ${operatorPeakMiB.toFixed(0)} MiB, restarted operator ${restartedPeakMiB.toFixed(0)} MiB, ` +
      `gateways ${gatewaysPeakMiB.map((mib) => mib.toFixed(0)).join(', ')} MiB; ` +
      `the restarted operator led after ${(leadAfterMs / 1_000).toFixed(1)} s`,
  );
  return [
    atMost(`operator with ${ENDPOINTS} endpoints, resident`, operatorMiB, TARGET.operatorMibMax, 'MiB'),
    atMost(`gateway with ${ENDPOINTS} endpoints, resident`, Math.max(...gatewaysMiB), TARGET.gatewayMibMax, 'MiB'),
    atMost(
      'restarted operator: from leading to its snapshot on all gateways',
      snapshotSeconds,
      TARGET.snapshotSecondsMax,
      's',
    ),
  ];
};

const measureResponses = async (): Promise<Measurement[]> => {
  await using stand = await startClusterStand();
  await stand.createEndpoints(0, ENDPOINTS, RESPONSES);
  const [operator] = stand.deployment.operators;
  if (operator === undefined) throw new Error('no operator is deployed');
  const gatewaysMiB = await Promise.all(stand.deployment.gateways.map(({ process }) => residentMiB(process.pid)));
  const what = `with ${ENDPOINTS} endpoints of ${RESPONSES} responses with expressions and templates, resident`;
  return [
    atMost(`operator ${what}`, await residentMiB(operator.process.pid), TARGET.operatorWithResponsesMibMax, 'MiB'),
    atMost(`gateway ${what}`, Math.max(...gatewaysMiB), TARGET.gatewayWithResponsesMibMax, 'MiB'),
  ];
};

/** Returns the CPU microseconds per request of a gateway. */
const cpuPerRequest = async (stand: Stand, endpoints: number): Promise<number> => {
  const requested = Array.from({ length: REQUESTED }, (_unused, index) =>
    stand.head('GET', `/${stand.own.uri}/v1/things/${Math.floor((index * endpoints) / REQUESTED)}`),
  );
  const before = await cpuSeconds(stand.gateway.pid);
  const { requests, refused } = await runLoad({
    port: stand.port,
    connections: CONNECTIONS,
    seconds: ROUND_SECONDS,
    requests: requested,
  });
  if (refused > 0) throw new Error(`${refused} responses were not 200`);
  return (((await cpuSeconds(stand.gateway.pid)) - before) / requests) * 1e6;
};

const measureMatch = async (): Promise<Measurement[]> => {
  const things = (count: number) =>
    Array.from({ length: count }, (_unused, index) => ({
      slug: `/v1/things/${index}`,
      action: json(JSON.stringify({ id: index })),
    }));
  await using few = await Stand.start();
  await using many = await Stand.start();
  await few.publish(...things(FEW_ENDPOINTS));
  await many.publish(...things(ENDPOINTS));
  const costs: [few: number, many: number][] = [];
  await cpuPerRequest(few, FEW_ENDPOINTS);
  await cpuPerRequest(many, ENDPOINTS);
  for (let round = 0; round < ROUNDS; round += 1) {
    costs.push([await cpuPerRequest(few, FEW_ENDPOINTS), await cpuPerRequest(many, ENDPOINTS)]);
  }
  const fewMicros = percentile(
    costs.map(([micros]) => micros),
    0.5,
  );
  const manyMicros = percentile(
    costs.map(([, micros]) => micros),
    0.5,
  );
  console.log(
    `CPU per request, median of ${ROUNDS} interleaved rounds: ${fewMicros.toFixed(1)} µs with ${FEW_ENDPOINTS} endpoints, ` +
      `${manyMicros.toFixed(1)} µs with ${ENDPOINTS}\n`,
  );
  return [
    atMost(
      `a request with ${ENDPOINTS} endpoints to one with ${FEW_ENDPOINTS}, CPU`,
      manyMicros / fewMicros,
      TARGET.cpuRatioMax,
      '×',
    ),
  ];
};

/** Measures the memory, the restart time and the matching time with 10,000 endpoints. */
export const benchScale = async (): Promise<boolean> => {
  const measurements = [...(await measureCluster()), ...(await measureResponses()), ...(await measureMatch())];
  printMeasurements(measurements);
  return measurements.every(({ met }) => met);
};
