import { ApiError, type KubeClient } from '@standin/kube';
import packageJson from '../../package.json' with { type: 'json' };
import type { Line } from '../terminal.ts';
import { styled } from '../terminal.ts';
import { checkCertificates, checkIssuance } from './check-certificates.ts';
import { checkCrds } from './check-crds.ts';
import { checkLeader } from './check-leader.ts';
import { checkConnections, checkVersions, readMetrics } from './check-metrics.ts';
import { checkReferences, checkServices } from './check-references.ts';
import { checkRights } from './check-rights.ts';
import { checkWorkloads } from './check-workloads.ts';
import { unknown, type Finding } from './finding.ts';
import { readInstallation } from './installation.ts';

/** Checks the installation in a namespace. Rejects with `ApiError` if the API server cannot be reached. */
export const runCheck = async (
  client: KubeClient,
  namespace: string,
  now = new Date(),
): Promise<readonly Finding[]> => {
  const done = new AbortController();
  // This check waits for the operator, so it begins first.
  const leader = orUnknown('Leader', checkLeader(client, namespace, done.signal));
  leader.catch(() => undefined);
  return checkAll(client, { namespace, now, leader }).finally(() => done.abort());
};

interface Checked {
  readonly namespace: string;
  readonly now: Date;
  readonly leader: Promise<readonly Finding[]>;
}

const checkAll = async (client: KubeClient, { namespace, now, leader }: Checked): Promise<readonly Finding[]> => {
  const crds = await orUnknown('CustomResourceDefinitions', checkCrds(client));
  const installation = await readInstallation(client, namespace).catch((error: unknown) =>
    forbidden('Components', error),
  );
  if ('check' in installation) return [...crds, installation];
  const workloads = checkWorkloads(installation);
  if (installation.components.length === 0) return [...crds, ...workloads];
  const { metrics, findings } = await readMetrics(client, installation);
  const rest = await Promise.all([
    leader,
    orUnknown('ServiceAccounts', checkReferences(client, installation, 'ServiceAccount')),
    orUnknown('ConfigMaps', checkReferences(client, installation, 'ConfigMap')),
    orUnknown('Secrets', checkReferences(client, installation, 'Secret')),
    orUnknown('Certificates', checkCertificates(client, installation, now)),
    orUnknown('Certificates', checkIssuance(client, installation)),
    orUnknown('Permissions', checkRights(client, installation)),
  ]);
  return [
    ...crds,
    ...workloads,
    ...checkServices(installation),
    ...rest.flat(),
    ...findings,
    ...checkConnections(metrics, namespace),
    ...checkVersions(metrics, packageJson.version),
  ];
};

const orUnknown = (check: string, findings: Promise<readonly Finding[]>): Promise<readonly Finding[]> =>
  findings.catch((error: unknown) => [forbidden(check, error)]);

/** Returns the finding for a check that this user must not carry out. Throws any other error. */
const forbidden = (check: string, error: unknown): Finding => {
  if (!(error instanceof ApiError) || error.status !== 403) throw error;
  return unknown(check, `${error.message}.`, 'Run the check with more permissions (docs/guides/kubectl.md).');
};

const STYLES = { Passed: 'green', Failed: 'red', Unknown: 'yellow' } as const;
const WIDTH = 8;

export const formatCheckFindings = (findings: readonly Finding[]): readonly Line[] =>
  findings.flatMap(({ check, status, message, remedy }): Line[] => [
    [styled(STYLES[status], status.padEnd(WIDTH)), ` ${check}: ${message}`],
    ...(remedy === undefined ? [] : [`${' '.repeat(WIDTH + 1)}${remedy}`]),
  ]);
