import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Cluster } from './cluster.ts';

const CRD_FOLDER = path.join(import.meta.dirname, '../../crds/manifests');
const RBAC_FILE = path.join(import.meta.dirname, 'rbac.yaml');

export const SYSTEM_NAMESPACE = 'standin-system';
export const OPERATOR_SERVICE_ACCOUNT = 'standin-operator';
export const GATEWAY_SERVICE_ACCOUNT = 'standin-gateway';
export const DASHBOARD_SERVICE_ACCOUNT = 'standin-dashboard';

/**
 * Installs the CRDs (served when the promise resolves), the namespace standin-system, the ServiceAccounts of operator, gateway and
 * dashboard with their minimal permissions, and the roles for users. The installation can run again on the same cluster. Returns
 * the CRDs in the form of `kubectl get -o name`.
 */
export const installStandin = async (cluster: Cluster): Promise<readonly string[]> => {
  await Promise.all([installCrds(cluster), readFile(RBAC_FILE, 'utf8').then((rbac) => cluster.apply(rbac))]);
  const { stdout } = await cluster.kubectl(['get', 'crd', '-o', 'name']);
  return stdout.split('\n').filter((name) => name.endsWith('.standin.dev'));
};

const installCrds = async (cluster: Cluster): Promise<void> => {
  const manifests = await readCrdManifests();
  if (manifests.length === 0) return;
  await cluster.apply(manifests.join('\n---\n'));
  const wait = ['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'];
  const { code, stderr } = await cluster.kubectl(wait);
  if (code !== 0) throw new Error(`the CRDs are not served: ${stderr}`);
};

const readCrdManifests = async (): Promise<readonly string[]> => {
  if (!existsSync(CRD_FOLDER)) return [];
  const files = (await readdir(CRD_FOLDER)).filter((name) => name.endsWith('.yaml')).sort();
  return Promise.all(files.map((name) => readFile(path.join(CRD_FOLDER, name), 'utf8')));
};
