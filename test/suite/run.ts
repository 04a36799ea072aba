/**
 * `npm test`: checks what the machine has, builds the cluster program and helm where the cache has none, then everything: static checks, unit,
 * integration, end-to-end and torture tests. Arguments go to vitest: `npm test -- gateway` runs the files with that in their path.
 * `--containers`: Kubernetes and ClickHouse from Docker images instead of our own programs.
 */
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { ensureDashboardBuild } from '@standin/dashboard';
import type { DockerEngine } from '../cluster/docker-engine.ts';
import { buildGoProgram, goVersion, MissingToolError } from '../cluster/go-program.ts';
import { findKubectl } from '../cluster/kubectl.ts';
import { runCommand } from '../cluster/run-command.ts';
import { CONTAINERS_VARIABLE, KUBECONFIG_VARIABLE } from '../harness/cluster-broker.ts';
import { findBrowserNeeds, prepareBrowser } from './browser-needs.ts';
import { findClusterNeeds } from './cluster-needs.ts';
import { findDockerNeeds, prepareImages } from './docker-needs.ts';
import { findNodeNeeds, prepareNodeTests } from './node-needs.ts';
import { runStaticCheck, STATIC_CHECKS, type CheckOutcome } from './static-checks.ts';
import { runVitest } from './vitest-run.ts';

/** Test files that this machine cannot run. */
interface NotRun {
  readonly files: readonly string[];
  /** Why, and how to get what is missing. */
  readonly reason: string;
}

/** Go's module and build caches after a first build. */
const DISK_BYTES_NEEDED = 5e9;
const FAILURES_SHOWN = 20;
/** Of vitest, where the value is an argument of its own and no file filter. */
const FLAGS_WITH_VALUE: readonly string[] = ['-t', '--testNamePattern', '--project', '--exclude', '--bail', '--retry'];

const main = async (): Promise<number> => {
  const started = performance.now();
  const args = process.argv.slice(2).filter((arg) => arg !== '--containers');
  const filters = args.filter(
    (arg, index) => !arg.startsWith('-') && !FLAGS_WITH_VALUE.includes(args[index - 1] ?? ''),
  );
  const useContainers = args.length < process.argv.length - 2;
  if (useContainers) process.env[CONTAINERS_VARIABLE] = '1';

  const clusters = await prepareClusters(filters, useContainers);
  const notRun = [...clusters, ...(await prepareNodes(filters, clusters)), ...(await prepareDashboard(filters))];
  const docker = await prepareDocker(filters, notRun);
  notRun.push(...docker.notRun);
  const checks: CheckOutcome[] = [];
  if (filters.length > 0) console.log('Static checks are left out: files were chosen.');
  else for (const check of STATIC_CHECKS) checks.push(await runStaticCheck(check));

  const excluded = notRun.flatMap(({ files }) => files).flatMap((file) => ['--exclude', file]);
  const tests = await runVitest({ args: [...args, ...excluded] }).finally(() => docker.engine?.stop());

  const failedChecks = checks.filter(({ passed }) => !passed);
  const failures = [...failedChecks.map(({ name }) => name), ...tests.failures];
  const passed = checks.length - failedChecks.length + tests.passed;
  const failed = failedChecks.length + tests.failed;
  const skipped = tests.skipped + notRun.reduce((sum, { files }) => sum + files.length, 0);

  console.log(`\n── npm test, ${Math.round((performance.now() - started) / 1000)} s ──`);
  for (const failure of failures.slice(0, FAILURES_SHOWN)) console.log(`✗ ${failure}`);
  if (failures.length > FAILURES_SHOWN) console.log(`✗ … and ${failures.length - FAILURES_SHOWN} more`);
  for (const test of tests.flaky) console.log(`passed only when tried again: ${test}`);
  for (const { files, reason } of notRun) console.log(`not run on this machine: ${files.join(', ')}\n  ${reason}`);
  if (passed + failed + skipped === 0) console.log(`no test file has ${filters.join(' or ')} in its path`);
  console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`);

  const isCi = process.env['CI'] === 'true';
  return failed > 0 || passed === 0 || (isCi && skipped > 0) ? 1 : 0;
};

/** Makes ready what the chosen tests' clusters need, and says which files have to be left out, and why. */
const prepareClusters = async (filters: readonly string[], useContainers: boolean): Promise<readonly NotRun[]> => {
  const needs = await findClusterNeeds(filters);
  const notRun: NotRun[] = [];
  const sharedIsGiven = (process.env[KUBECONFIG_VARIABLE] ?? '') !== '';
  if (useContainers && !sharedIsGiven) {
    const docker = await runCommand('docker', ['info']).catch(() => ({ code: 1 }));
    if (docker.code !== 0)
      notRun.push({
        files: needs.shared,
        reason: '--containers needs a Docker engine: https://docs.docker.com/engine/install/',
      });
  }
  const needProgram = sharedIsGiven || useContainers ? needs.own : [...needs.own, ...needs.shared];
  try {
    if (needProgram.length > 0) {
      await goVersion();
      await checkDisk();
      await buildGoProgram('cluster', console.log);
    }
    if (needs.own.length + needs.shared.length > 0) await findKubectl(console.log);
  } catch (error) {
    if (!(error instanceof MissingToolError)) throw error;
    notRun.push({ files: needProgram, reason: error.message });
  }
  notRun.push(...(await prepareTool(withoutLeftOut(needs.helm, notRun), () => buildGoProgram('helm', console.log))));
  notRun.push(...(await prepareTool(needs.kubectl, () => findKubectl(console.log))));
  return notRun.filter(({ files }) => files.length > 0);
};

/** The same for tests that need one program. */
const prepareTool = async (chosen: readonly string[], prepare: () => Promise<unknown>): Promise<readonly NotRun[]> => {
  if (chosen.length === 0) return [];
  try {
    await prepare();
    return [];
  } catch (error) {
    if (!(error instanceof MissingToolError)) throw error;
    return [{ files: chosen, reason: error.message }];
  }
};

/** The same for the tests on a real node. */
const prepareNodes = async (filters: readonly string[], leftOut: readonly NotRun[]): Promise<readonly NotRun[]> =>
  prepareTool(withoutLeftOut(await findNodeNeeds(filters), leftOut), () => prepareNodeTests(console.log));

const withoutLeftOut = (files: readonly string[], leftOut: readonly NotRun[]): readonly string[] =>
  files.filter((file) => !leftOut.some((entry) => entry.files.includes(file)));

/** Makes ready what the chosen tests of the dashboard need: a browser, and the build, which would else count as part of a test. */
const prepareDashboard = async (filters: readonly string[]): Promise<readonly NotRun[]> => {
  const files = await findBrowserNeeds(filters);
  if (files.length === 0) return [];
  const reason = await prepareBrowser(console.log);
  if (reason !== undefined) return [{ files, reason }];
  await ensureDashboardBuild(() => console.log('Building the dashboard (once, about 10 seconds) …'));
  return [];
};

/** The same for the tests that run the images, but for those that are left out already. The engine is held until the tests have ended. */
const prepareDocker = async (
  filters: readonly string[],
  leftOut: readonly NotRun[],
): Promise<{ readonly notRun: readonly NotRun[]; readonly engine?: DockerEngine }> => {
  const files = withoutLeftOut(await findDockerNeeds(filters), leftOut);
  if (files.length === 0) return { notRun: [] };
  const engine = await prepareImages(console.log);
  return typeof engine === 'string' ? { notRun: [{ files, reason: engine }] } : { notRun: [], engine };
};

const checkDisk = async (): Promise<void> => {
  const { bavail, bsize } = await statfs(path.join(import.meta.dirname, '../..'));
  const free = bavail * bsize;
  if (free >= DISK_BYTES_NEEDED) return;
  console.log(`Only ${(free / 1e9).toFixed(1)} GB are free; the first build of the cluster program takes about 4 GB.`);
};

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    console.log('tests: 0 passed, 1 failed, 0 skipped');
    process.exitCode = 1;
  },
);
