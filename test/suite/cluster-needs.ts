import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { REHEARSAL_VARIABLE } from '../harness/environment.ts';
import { moduleImports } from './module-imports.ts';

/** The test files that use a Kubernetes cluster, Helm or kubectl, determined by their imports. */
export interface ClusterNeeds {
  /** Files that use the shared cluster. */
  readonly shared: readonly string[];
  /** Files that start their own cluster, which only the Go program provides. */
  readonly own: readonly string[];
  /** Files that render the charts. They may also be in the other lists. */
  readonly helm: readonly string[];
  /** Files that run kubectl without a cluster. */
  readonly kubectl: readonly string[];
}

const ROOT = path.join(import.meta.dirname, '../..');
const SHARED_MODULE = 'test/harness/shared-cluster.ts';
const OWN_MODULE = 'test/harness/cluster.ts';
const HELM_MODULE = 'test/harness/helm.ts';
const KUBECTL_MODULE = 'test/cluster/kubectl.ts';
const TEST_FILES = 'test/{integration,e2e,node,torture}/**/*.test.ts';
const REHEARSAL_FILES = 'test/rehearsal/**/*.test.ts';

/**
 * Returns the needs of the test files that vitest's `filters` select, as paths relative to the root of the checkout. Without
 * filters, all test files are selected.
 */
export const findClusterNeeds = async (filters: readonly string[]): Promise<ClusterNeeds> => {
  const shared: string[] = [];
  const own: string[] = [];
  const helm: string[] = [];
  const kubectl: string[] = [];
  for (const file of await selectedTestFiles(filters)) {
    const modules = await reachableModules(file);
    if (modules.has(HELM_MODULE)) helm.push(file);
    if (modules.has(OWN_MODULE)) own.push(file);
    else if (modules.has(SHARED_MODULE)) shared.push(file);
    else if (modules.has(KUBECTL_MODULE)) kubectl.push(file);
  }
  return { shared, own, helm, kubectl };
};

/** Returns the test files that load a module, among those that `filters` select. */
export const findFilesThatNeed = async (module: string, filters: readonly string[]): Promise<readonly string[]> => {
  const files = await selectedTestFiles(filters);
  const reached = await Promise.all(files.map((file) => reachableModules(file)));
  return files.filter((_file, index) => reached[index]?.has(module));
};

/**
 * Returns the integration, end-to-end, node and torture tests that vitest's `filters` select. Without filters, returns all of them.
 */
const selectedTestFiles = async (filters: readonly string[]): Promise<readonly string[]> => {
  const files: string[] = [];
  const selected = process.env[REHEARSAL_VARIABLE] === '1' ? REHEARSAL_FILES : TEST_FILES;
  for await (const file of glob(selected, { cwd: ROOT })) files.push(file);
  return filters.length === 0 ? files : files.filter((file) => filters.some((filter) => file.includes(filter)));
};

/**
 * Returns the file and all modules of the checkout that it loads by relative paths, directly or indirectly. Does not follow the
 * imports of the shared cluster's module, because that module itself loads OWN_MODULE.
 */
export const reachableModules = async (file: string, seen = new Set<string>()): Promise<ReadonlySet<string>> => {
  if (seen.has(file)) return seen;
  seen.add(file);
  if (file === SHARED_MODULE || file === OWN_MODULE) return seen;
  const text = await readFile(path.join(ROOT, file), 'utf8').catch(() => '');
  for (const { specifier, isTypeOnly } of moduleImports(file, text)) {
    if (isTypeOnly || !specifier.startsWith('.')) continue;
    await reachableModules(path.join(path.dirname(file), specifier), seen);
  }
  return seen;
};
