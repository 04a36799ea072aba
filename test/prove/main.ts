import { describeMachine } from '../bench/machine.ts';
import { proveKeys, proveQuota } from './accounts.ts';
import { proveBytes } from './bytes.ts';
import { GUARANTEES, proofCommand, tableRow, type Finding, type ProofName } from './guarantees.ts';
import { proveLog } from './log.ts';
import { provePeers } from './peers.ts';

/**
 * `npm run prove [-- NAME…]` checks each guarantee on this machine, prints the table of docs/proof.md, and exits with 1 if a
 * guarantee does not hold.
 */

const PROOFS: Readonly<Record<ProofName, () => Promise<readonly Finding[]>>> = {
  log: proveLog,
  bytes: proveBytes,
  quota: proveQuota,
  keys: proveKeys,
  peers: provePeers,
};
const NAMES = Object.keys(PROOFS) as ProofName[];

/** Runs a proof. A proof that fails explains the failure in each of its rows. */
const run = async (name: ProofName): Promise<readonly Finding[]> => {
  try {
    return await PROOFS[name]();
  } catch (error) {
    console.error(error);
    const [line = ''] = String(error).split('\n');
    return GUARANTEES[name].map(() => ({ output: line, holds: false }));
  }
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !(name in PROOFS));
if (unknown.length > 0) {
  console.error(`Unknown proof: ${unknown.join(', ')}. Available: ${NAMES.join(', ')}.`);
  process.exit(2);
}
const started = performance.now();
const lines: string[] = [];
let allHold = true;
for (const name of NAMES) {
  if (named.length > 0 && !named.includes(name)) continue;
  console.log(`━━ ${proofCommand(name)} ━━`);
  const findings = await run(name);
  for (const [index, guarantee] of GUARANTEES[name].entries()) {
    const finding = findings[index] ?? { output: 'no result', holds: false };
    allHold &&= finding.holds;
    lines.push(tableRow(name, guarantee, finding));
  }
}
console.log(`\n${describeMachine()}, ${Math.round((performance.now() - started) / 1_000)} s\n`);
console.log(['| Guarantee | Command | Output |', '| --- | --- | --- |', ...lines].join('\n'));
process.exit(allHold ? 0 : 1);
