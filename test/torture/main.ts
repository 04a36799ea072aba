import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

/**
 * `npm run torture -- [--minutes N] [--seed N] [FILE…]` runs the long form. An oracle loads its gateway for N minutes (default 1),
 * or until the gateway has been killed 200 times. An operator is killed 100 times. Without `--seed`, each oracle has a new seed.
 * The seeds are printed.
 */

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string', default: '1' }, seed: { type: 'string' } },
  allowPositionals: true,
});
for (const [name, value] of Object.entries(values)) {
  if (Number.isFinite(Number(value)) && Number(value) > 0) continue;
  console.error(`--${name} must be a number above 0`);
  process.exit(2);
}
const env = {
  ...process.env,
  STANDIN_TEST_TORTURE: 'long',
  STANDIN_TEST_TORTURE_MINUTES: values.minutes,
  ...(values.seed !== undefined && { STANDIN_TEST_SEED: values.seed }),
};
const files = positionals.length === 0 ? [''] : positionals;
const filters = files.map((file) => `test/torture/${file}`);
const args = ['run', '--no-file-parallelism', '--retry', '0', ...filters];
process.exitCode = spawnSync('vitest', args, { stdio: 'inherit', env }).status ?? 1;
