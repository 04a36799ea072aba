import { errorMessage } from '@standin/contract';
import { benchResponses } from './responses.ts';
import { benchDashboard } from './dashboard.ts';
import { benchDev } from './dev.ts';
import { benchDrain } from './drain.ts';
import { benchExpectations } from './expectations.ts';
import { benchFresh } from './fresh.ts';
import { benchGateway } from './gateway.ts';
import { benchKeys } from './keys.ts';
import { benchIngest } from './ingest.ts';
import { benchLive } from './live.ts';
import { describeMachine } from './machine.ts';
import { benchMemory } from './memory.ts';
import { parseBenchArgs, USAGE, type BenchOptions } from './options.ts';
import { benchQuota } from './quota.ts';
import { benchRefusals } from './refusals.ts';
import { benchScale } from './scale.ts';
import { benchSpool } from './spool.ts';
import type { TARGETS } from './targets.ts';

/**
 * `npm run bench [-- NAME… [OPTION…]]` measures, prints tables, and exits with 1 if a target was missed. It is never part of the
 * tests, because the results depend on the machine as much as on Standin.
 */

/** The benchmarks by name. Each resolves with whether all its targets were met. */
const BENCHES: Readonly<Record<keyof typeof TARGETS, (options: BenchOptions) => Promise<boolean>>> = {
  gateway: benchGateway,
  responses: benchResponses,
  memory: benchMemory,
  drain: benchDrain,
  spool: benchSpool,
  ingest: benchIngest,
  live: benchLive,
  keys: benchKeys,
  expectations: benchExpectations,
  quota: benchQuota,
  refusals: benchRefusals,
  scale: benchScale,
  fresh: benchFresh,
  dashboard: benchDashboard,
  dev: benchDev,
};

const parsed = () => {
  try {
    const { names, options } = parseBenchArgs(process.argv.slice(2));
    const unknown = names.filter((name) => !(name in BENCHES));
    if (unknown.length === 0) return { names, options };
    throw new Error(`Unknown benchmark: ${unknown.join(', ')}. Available: ${Object.keys(BENCHES).join(', ')}.`);
  } catch (error) {
    console.error(`${errorMessage(error)}\n\n${USAGE}`);
    process.exit(2);
  }
};

const { names, options } = parsed();
let met = true;
for (const [name, bench] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.log(`\n━━ ${name} ━━ npm run bench -- ${name}\n${describeMachine()}`);
  const startedMs = performance.now();
  try {
    met = (await bench(options)) && met;
  } catch (error) {
    // The other benchmarks are still worth running: all of them take more than an hour.
    console.error(error);
    met = false;
  }
  console.log(`${name} took ${Math.round((performance.now() - startedMs) / 1_000)} s`);
}
process.exit(met ? 0 : 1);
