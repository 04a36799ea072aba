import { describeMachine } from './machine.ts';
import { benchDashboard } from './dashboard.ts';
import { benchFresh } from './fresh.ts';
import { benchGateway } from './gateway.ts';
import { benchKeys } from './keys.ts';
import { benchLive } from './live.ts';
import { benchScale } from './scale.ts';
import { benchSpool } from './spool.ts';

/**
 * `npm run bench [-- NAME…]`: measures, prints tables, and ends with 1 if a bar was missed. Never part of the tests: what is
 * measured is a machine as much as Standin.
 */
const BENCHES: Readonly<Record<string, () => Promise<boolean>>> = {
  gateway: benchGateway,
  spool: benchSpool,
  live: benchLive,
  keys: benchKeys,
  scale: benchScale,
  fresh: benchFresh,
  dashboard: benchDashboard,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`There is no bench named ${unknown.join(', ')}. There are: ${Object.keys(BENCHES).join(', ')}.`);
  process.exit(2);
}

let met = true;
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`\n━━ ${name} ━━ npm run bench -- ${name}\n${describeMachine()}`);
  met = (await bench()) && met;
}
process.exit(met ? 0 : 1);
