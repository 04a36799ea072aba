import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Page } from 'playwright-core';
import type { TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { mountStreamCertificates, type DeployedOperator } from '../harness/deployment.ts';
import { DASHBOARD_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { startProcess, type RunningProcess } from '../harness/processes.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { goto } from './dashboard-stand.ts';

export interface ClusterDashboard {
  /** `http://127.0.0.1:41234` */
  readonly url: string;
  /** The URL of its metrics. */
  readonly adminUrl: string;
  readonly process: RunningProcess;
}

export interface ClusterDashboardOptions {
  readonly cluster: Cluster;
  readonly clickHouse: Pick<TestClickHouse, 'env'>;
  /** The operators that the dashboard asks for identities and refused requests. */
  readonly operators?: readonly DeployedOperator[];
  /** Settings in addition to those that every test dashboard needs. */
  readonly env?: Readonly<Record<string, string>>;
  /** The namespace of the dashboard's ServiceAccount. By default, standin-system. */
  readonly systemNamespace?: string;
}

/** The maximum time to start, which includes a build of a few seconds if the sources have changed. */
const START_MS_MAX = 90_000;

/** Runs dashboard/src/main.ts with the token of the dashboard's ServiceAccount. The dashboard serves plain HTTP. */
export const startClusterDashboard = async (options: ClusterDashboardOptions): Promise<ClusterDashboard> => {
  const { cluster, clickHouse, operators, env, systemNamespace = SYSTEM_NAMESPACE } = options;
  const process = startProcess({
    name: 'dashboard',
    main: 'dashboard/src/main.ts',
    env: {
      STANDIN_HOST: '127.0.0.1',
      STANDIN_PORT: '0',
      STANDIN_ADMIN_HOST: '127.0.0.1',
      STANDIN_ADMIN_PORT: '0',
      STANDIN_KUBECONFIG: await cluster.tokenKubeconfig(systemNamespace, DASHBOARD_SERVICE_ACCOUNT),
      STANDIN_SESSION_KEY: randomBytes(32).toString('base64'),
      STANDIN_DANGEROUSLY_ALLOW_HTTP: 'true',
      ...clickHouse.env,
      ...(operators && (await operatorEnv(operators, { cluster, systemNamespace }))),
      ...env,
    },
  });
  const listens = ({ msg }: Record<string, unknown>): boolean => msg === 'dashboard listening';
  const { address, adminUrl } = await process.waitForEvent('its address', listens, START_MS_MAX);
  return { url: String(address), adminUrl: String(adminUrl), process };
};

const operatorEnv = async (
  operators: readonly DeployedOperator[],
  where: { readonly cluster: Cluster; readonly systemNamespace: string },
) => {
  const tlsDir = path.join(await createTempFolder('dashboard'), 'tls');
  await mountStreamCertificates(where, tlsDir, 'dashboard');
  const urls = operators.map(({ streamUrl }) => streamUrl).join(',');
  return { STANDIN_OPERATOR_URLS: urls, STANDIN_OPERATOR_TLS_DIR: tlsDir };
};

/** A user with a token. */
export interface Person {
  readonly token: string;
  /** The name by which the API server knows the user. */
  readonly user: string;
}

/** Opens a page that requires a login, and signs in. */
export const signIn = async (page: Page, url: string, { token }: Person): Promise<void> => {
  await goto(page, url);
  await page.getByLabel('Kubernetes token').fill(token);
  await page.getByRole('button', { name: 'Sign in with this token' }).click();
  await page.waitForURL(url);
};

/**
 * Creates a ServiceAccount for tests that sign in with a token, and binds it to the ClusterRole `role`, if given, in its namespace.
 */
export const createPerson = async (
  cluster: Cluster,
  namespace: string,
  { name, role }: { readonly name: string; readonly role?: string },
): Promise<Person> => {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } };
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  };
  const items = role === undefined ? [account] : [account, binding];
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  return { token: await createToken(cluster, namespace, name), user: `system:serviceaccount:${namespace}:${name}` };
};

const createToken = async (cluster: Cluster, namespace: string, name: string): Promise<string> => {
  const { stdout, stderr, code } = await cluster.kubectl(['create', 'token', name, '-n', namespace, '--duration=1h']);
  if (code !== 0) throw new Error(`no token for ${name}: ${stderr}`);
  return stdout.trim();
};
