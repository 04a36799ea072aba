import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { ensureDashboardBuild } from '@standin/dashboard';
import type { DockerEngine } from '../cluster/docker-engine.ts';
import { buildGoProgram, goVersion, lacksGoProgram, MissingToolError, type Progress } from '../cluster/go-program.ts';
import { findKubectl } from '../cluster/kubectl.ts';
import { runCommand } from '../cluster/run-command.ts';
import { KUBECONFIG_VARIABLE } from '../harness/environment.ts';
import { prepareLanguages } from '../harness/languages.ts';
import { findBrowserNeeds, prepareBrowser } from './browser-needs.ts';
import { findClusterNeeds, findFilesThatNeed, type ClusterNeeds } from './cluster-needs.ts';
import { findDockerNeeds, prepareImages } from './docker-needs.ts';
import { findNodeNeeds, prepareNodeTests } from './node-needs.ts';

/** Test files that cannot run on this machine. */
export interface NotRun {
  readonly files: readonly string[];
  /** The reason, and how to install the missing part. */
  readonly reason: string;
}

/** Test files that need more than npm packages, by requirement. */
export interface Needs {
  readonly cluster: ClusterNeeds;
  readonly node: readonly string[];
  readonly docker: readonly string[];
  readonly browser: readonly string[];
  readonly languages: readonly string[];
}

export interface Prepared {
  readonly notRun: readonly NotRun[];
  /** The Docker engine with the images. The caller stops it. */
  readonly engine?: DockerEngine;
}

const LANGUAGES_MODULE = 'test/harness/languages.ts';

/** Slightly more than Go's module and build caches take after a first build (about 4 GB). */
const DISK_BYTES_NEEDED = 5e9;

/** Returns the needs of the test files that vitest's `filters` select. Without filters, all files are selected. */
export const findNeeds = async (filters: readonly string[]): Promise<Needs> => ({
  cluster: await findClusterNeeds(filters),
  node: await findNodeNeeds(filters),
  docker: await findDockerNeeds(filters),
  browser: await findBrowserNeeds(filters),
  languages: await findFilesThatNeed(LANGUAGES_MODULE, filters),
});

/** Returns the test files that depend on `preparePrograms`. */
export const filesThatWait = ({ cluster, node, docker, languages }: Needs): readonly string[] => [
  ...new Set([
    ...cluster.shared,
    ...cluster.own,
    ...cluster.helm,
    ...cluster.kubectl,
    ...node,
    ...docker,
    ...languages,
  ]),
];

/** Returns whether the cluster program must be built first, which takes minutes. Returns false if a build is impossible. */
export const takesMinutes = async ({ cluster }: Needs, useContainers: boolean): Promise<boolean> =>
  needsProgram(cluster, useContainers).length > 0 && (await lacksGoProgram('cluster'));

/**
 * Prepares everything that Kubernetes, Helm, a node, the images and other languages need. Resolves with the test files for which that is impossible.
 */
export const preparePrograms = async (needs: Needs, useContainers: boolean, report: Progress): Promise<Prepared> => {
  const clusters = await prepareClusters(needs.cluster, useContainers, report);
  const notRun = [
    ...clusters,
    ...(await prepareTool(without(needs.node, clusters), () => prepareNodeTests(report))),
    ...(await prepareTool(needs.languages, () => prepareLanguages(report))),
  ];
  const images = without(needs.docker, notRun);
  if (images.length === 0) return { notRun };
  const engine = await prepareImages(report);
  return typeof engine === 'string' ? { notRun: [...notRun, { files: images, reason: engine }] } : { notRun, engine };
};

/**
 * Prepares a browser and builds the dashboard, because the build time would otherwise count towards a test. Resolves with the test
 * files that cannot run.
 */
export const prepareDashboard = async ({ browser }: Needs): Promise<readonly NotRun[]> => {
  if (browser.length === 0) return [];
  const reason = await prepareBrowser(console.log);
  if (reason !== undefined) return [{ files: browser, reason }];
  await ensureDashboardBuild(() => console.log('Building the dashboard (once, about 10 seconds)…'));
  return [];
};

/**
 * Returns the test files that need the cluster program. The user's cluster or containers replace the shared cluster, but never a
 * cluster that a test starts itself.
 */
const needsProgram = ({ own, shared }: ClusterNeeds, useContainers: boolean): readonly string[] =>
  useContainers || isSharedGiven() ? own : [...own, ...shared];

const isSharedGiven = (): boolean => (process.env[KUBECONFIG_VARIABLE] ?? '') !== '';

const prepareClusters = async (
  needs: ClusterNeeds,
  useContainers: boolean,
  report: Progress,
): Promise<readonly NotRun[]> => {
  const notRun: NotRun[] = [];
  if (useContainers && !isSharedGiven()) {
    const docker = await runCommand('docker', ['info']).catch(() => ({ code: 1 }));
    if (docker.code !== 0)
      notRun.push({
        files: needs.shared,
        reason: '--containers needs a Docker engine: https://docs.docker.com/engine/install/',
      });
  }
  const needProgram = needsProgram(needs, useContainers);
  try {
    if (needProgram.length > 0) {
      await goVersion();
      await checkDisk(report);
      await buildGoProgram('cluster', report);
    }
    if (needs.own.length + needs.shared.length > 0) await findKubectl(report);
  } catch (error) {
    if (!(error instanceof MissingToolError)) throw error;
    notRun.push({ files: needProgram, reason: error.message });
  }
  notRun.push(...(await prepareTool(without(needs.helm, notRun), () => buildGoProgram('helm', report))));
  notRun.push(...(await prepareTool(needs.kubectl, () => findKubectl(report))));
  return notRun.filter(({ files }) => files.length > 0);
};

const prepareTool = async (files: readonly string[], prepare: () => Promise<unknown>): Promise<readonly NotRun[]> => {
  if (files.length === 0) return [];
  try {
    await prepare();
    return [];
  } catch (error) {
    if (!(error instanceof MissingToolError)) throw error;
    return [{ files, reason: error.message }];
  }
};

const without = (files: readonly string[], notRun: readonly NotRun[]): readonly string[] =>
  files.filter((file) => !notRun.some((entry) => entry.files.includes(file)));

const checkDisk = async (report: Progress): Promise<void> => {
  const { bavail, bsize } = await statfs(path.join(import.meta.dirname, '../..'));
  const free = bavail * bsize;
  if (free >= DISK_BYTES_NEEDED) return;
  report(`Only ${(free / 1e9).toFixed(1)} GB are free; the first build of the cluster program takes about 4 GB.`);
};
