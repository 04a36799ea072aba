import { setTimeout as delay } from 'node:timers/promises';
import { periodAt } from '@standin/contract';
import pino from 'pino';
import { QuotaGate } from '../../gateway/src/admit/quota-gate.ts';
import { readMetric } from '../e2e/tenant.ts';
import { eventually } from '../harness/eventually.ts';
import { QuotaStand } from '../torture/quota-stand.ts';
import { OTHER_CORE, postText, SERVER_CORE, type Contender } from './contenders.ts';
import { lowerPriority, median, pinToCore, printMeasurements, unpin, type Measurement } from './machine.ts';
import { OTHERS_MAX, runRound } from './rounds.ts';
import { runLoad } from './run-load.ts';
import { TARGETS } from './targets.ts';

const GATEWAYS = 5;
const PLENTY = 10_000_000;
/** The number of pairs of rounds. Each pair has one round per account. */
const ROUNDS = 20;
const ROUND_SECONDS = 2;
const WARM_UPS = 2;
const { cpuRatioMax, writesPerSecondMax } = TARGETS.quota;
const ADMISSIONS = 2_000_000;

const PER_GATEWAY = 2_000;
/** The rate of the load as a fraction of the machine's maximum. A higher rate would measure the machine instead of the quota. */
const LOAD_SHARE = 0.7;
const LOAD_SECONDS = 60;
const CONNECTIONS = 16;
const LAST_PERMITS = 20_000;

const IDLE_ACCOUNTS = 1_000;
const IDLE_SECONDS = 60;
/** The number of concurrent requests to the API server while the accounts are created. */
const WRITERS = 16;

interface Caller {
  readonly path: string;
  readonly key: string;
}

const callerRequest = ({ path, key }: Caller): string => postText(path, `x-api-key: ${key}\r\n`, '{"id": 1}');

/** Creates an Account with a quota, its Project and a mock, all with this name. Resolves when the gateways know them. */
const addAccount = async ({ tenant }: QuotaStand, name: string, monthlyQuota: number): Promise<Caller> => {
  await tenant.apply('Account', name, { plan: 'Free', monthlyQuota });
  await tenant.apply('Project', name, { displayName: name, accountRef: { name } });
  const rest = { displayName: name, slug: '/orders', method: 'POST', action: 'JSON', json: { body: '"orders"' } };
  await tenant.apply('Endpoint', name, { ...rest, projectRef: { name } });
  await tenant.untilReason('Endpoint', name, 'Ready', 120_000);
  return { path: `${await tenant.projectPath(name)}/orders`, key: await tenant.readSecret(`${name}-api-key`) };
};

const ledgerWrites = async (stand: QuotaStand): Promise<number> => {
  const { adminUrl } = await stand.leader();
  return (await readMetric(adminUrl, 'standin_quota_ledger_writes_total')).get('') ?? 0;
};

const portNumber = ({ url }: { readonly url: string }): number => Number(new URL(url).port);

/** Returns the CPU time of one admission with an available permit in microseconds, without the rest of a request. */
const admissionMicros = async (): Promise<number> => {
  const period = periodAt(Date.now());
  const gate = new QuotaGate({
    ask: () => Promise.resolve({ kind: 'granted', block: crypto.randomUUID(), period, permits: 1e9 }),
    reportUsage: () => Promise.resolve(),
    logger: pino({ level: 'silent' }),
  });
  const account = { kind: 'Account', uid: 'a', namespace: 'a', name: 'a', plan: 'Free', quota: 1e9 } as const;
  await gate.admit(account);
  const all = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    for (let n = 0; n < ADMISSIONS; n++) void gate.admit(account);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / ADMISSIONS;
  });
  return median(all);
};

/** Loads one gateway, alternating between an account without a quota and one with a large quota. */
const measureCpu = async (stand: QuotaStand, without: Caller, plenty: Caller): Promise<Measurement[]> => {
  const gateway = stand.gateway(0);
  const { pid } = gateway.process;
  const settle = async (): Promise<void> => {
    const backlog = () => readMetric(gateway.adminUrl, 'standin_deliver_backlog_bytes');
    await eventually('everything to be delivered', backlog, {
      accept: (bytes) => bytes.get('') === 0,
      timeoutMs: 60_000,
    });
  };
  const contender = (name: string, caller: Caller): Contender => ({
    name,
    pid,
    port: portNumber(gateway),
    request: callerRequest(caller),
    settle,
    countRows: undefined,
    stop: () => Promise.resolve(),
  });
  const contenders = [contender('no quota', without), contender('quota', plenty)] as const;
  const others = [...stand.deployment.gateways.slice(1), ...stand.deployment.operators];
  const pinned = [process.pid, stand.clickHouse.pid, ...others.map((other) => other.process.pid)];
  for (const other of pinned) if (other !== undefined) await pinToCore(other, OTHER_CORE);
  if (stand.clickHouse.pid !== undefined) await lowerPriority(stand.clickHouse.pid);
  await pinToCore(pid, SERVER_CORE);
  const micros: [number[], number[]] = [[], []];
  const disturbances: number[] = [];
  for (let round = -WARM_UPS; round < ROUNDS; round++) {
    // The order of the two accounts alternates.
    for (const index of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const { cpuMicrosPerRequest, others: disturbance } = await runRound(contenders[index], {
        seconds: ROUND_SECONDS,
      });
      if (round < 0) continue;
      micros[index].push(cpuMicrosPerRequest);
      disturbances.push(disturbance);
    }
  }
  for (const other of [...pinned, pid]) if (other !== undefined) await unpin(other);
  const ratios = micros[1].map((value, round) => value / (micros[0][round] ?? Number.NaN));
  const [none, quota, ratio] = [median(micros[0]), median(micros[1]), median(ratios)];
  console.log(`CPU of a gateway per request: medians of ${ROUNDS} pairs of rounds of ${ROUND_SECONDS} s`);
  const disturbed = median(disturbances);
  if (disturbed > OTHERS_MAX)
    console.log(`Other processes used ${(disturbed * 100).toFixed(0)} % of its core. Measure again.`);
  const admission = await admissionMicros();
  return [
    { what: 'CPU per request, no quota', measured: `${none.toFixed(1)} µs`, target: '', met: true },
    {
      what: 'CPU per request, quota',
      measured: `${quota.toFixed(1)} µs, × ${ratio.toFixed(3)}`,
      target: `≤ × ${cpuRatioMax}`,
      met: ratio <= cpuRatioMax,
    },
    {
      what: '… for the admission alone',
      measured: `${admission.toFixed(2)} µs, ${((admission / none) * 100).toFixed(1)} %`,
      target: '',
      met: true,
    },
  ];
};

/** Loads all gateways at once. Returns the requests/s with status 200 and the number of ledger writes in that time. */
const load = async (
  stand: QuotaStand,
  caller: Caller,
  { seconds, perSecond }: { seconds: number; perSecond?: number },
) => {
  const before = await ledgerWrites(stand);
  const results = await Promise.all(
    stand.deployment.gateways.map((gateway) =>
      runLoad({
        port: portNumber(gateway),
        requests: [callerRequest(caller)],
        connections: CONNECTIONS,
        seconds,
        ...(perSecond !== undefined && { perSecond }),
      }),
    ),
  );
  const sum = (of: 'requests' | 'refused'): number => results.reduce((total, result) => total + result[of], 0);
  const longest = Math.max(...results.map((result) => result.seconds));
  const accepted = sum('requests') - sum('refused');
  const writes = (await ledgerWrites(stand)) - before;
  return { accepted, refused: sum('refused'), seconds: longest, perSecond: accepted / longest, writes };
};

const measureWrites = async (stand: QuotaStand, plenty: Caller): Promise<Measurement[]> => {
  const most = await load(stand, plenty, { seconds: 5 });
  const perGateway = Math.min(PER_GATEWAY, Math.floor((most.perSecond * LOAD_SHARE) / GATEWAYS));
  // Uses a new account, so that the measurement includes the account's first request.
  const fresh = await addAccount(stand, 'fresh', PLENTY);
  const busy = await load(stand, fresh, { seconds: LOAD_SECONDS, perSecond: perGateway });
  const last = await addAccount(stand, 'last', LAST_PERMITS);
  const end = await load(stand, last, { seconds: 15, perSecond: perGateway });
  return [
    {
      what: `ledger writes per second, from the first request, at ${GATEWAYS} × ${perGateway} requests/s`,
      measured: `${(busy.writes / busy.seconds).toFixed(2)} (${busy.writes} in ${busy.seconds.toFixed(0)} s)`,
      target: `≤ ${writesPerSecondMax}`,
      met: busy.writes <= busy.seconds * writesPerSecondMax && busy.refused === 0,
    },
    {
      what: `a quota of ${LAST_PERMITS}, used up at that rate`,
      measured: `${end.accepted} accepted, ${end.writes} ledger writes in total`,
      target: `${LAST_PERMITS} accepted`,
      met: end.accepted === LAST_PERMITS,
    },
  ];
};

const measureIdle = async (stand: QuotaStand): Promise<Measurement[]> => {
  let next = 0;
  const gateway = stand.gateway(0);
  const addSome = async (): Promise<void> => {
    while (next < IDLE_ACCOUNTS) {
      const { path, key } = await addAccount(stand, `idle-${next++}`, 100_000);
      const { status } = await fetch(`${gateway.url}${path}`, { method: 'POST', headers: { 'x-api-key': key } });
      if (status !== 200) throw new Error(`a request of a new account got status ${status}`);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, addSome));
  const before = await ledgerWrites(stand);
  await delay(IDLE_SECONDS * 1_000);
  const writes = (await ledgerWrites(stand)) - before;
  const what = `ledger writes of ${IDLE_ACCOUNTS} idle accounts in ${IDLE_SECONDS} s`;
  return [{ what, measured: String(writes), target: '0', met: writes === 0 && before >= IDLE_ACCOUNTS }];
};

/** Measures the cost of quotas: CPU per request, and writes to the API server. */
export const benchQuota = async (): Promise<boolean> => {
  await using stand = await QuotaStand.start({
    operators: 1,
    gateways: GATEWAYS,
    operatorEnv: { STANDIN_LOG_LEVEL: 'warn', STANDIN_WRITES_PER_SECOND: '1000' },
    gatewayEnv: { STANDIN_LOG_LEVEL: 'warn' },
  });
  const plenty = await addAccount(stand, 'plenty', PLENTY);
  const measurements = [
    ...(await measureCpu(stand, stand, plenty)),
    ...(await measureWrites(stand, plenty)),
    ...(await measureIdle(stand)),
  ];
  printMeasurements(measurements);
  return measurements.every(({ met }) => met);
};
