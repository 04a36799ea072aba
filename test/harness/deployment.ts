import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { resourcePath } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import type { TestClickHouse } from './clickhouse.ts';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from './install-standin.ts';
import { freePort } from './ports.ts';
import { CHART_NODE_ARGS, startProcess, type RunningProcess } from './processes.ts';

type Env = Readonly<Record<string, string>>;

export interface DeployOptions {
  readonly cluster: Cluster;
  readonly clickHouse: Pick<TestClickHouse, 'env'>;
  readonly operators?: number;
  readonly gateways?: number;
  /** Settings for all gateways, or a function that returns them per gateway, in addition to those of the deployment itself. */
  readonly gatewayEnv?: Env | ((gateway: number, operators: readonly DeployedOperator[]) => Promise<Env>);
  /** Settings for every operator. */
  readonly operatorEnv?: Readonly<Record<string, string>>;
  /** The namespace of the operators' ServiceAccount, Lease and certificates. By default, standin-system. */
  readonly systemNamespace?: string;
  /** Folders with certificates from a different tool. By default, the operators create the certificates. */
  readonly certificateDirs?: { readonly operator: string; readonly gateway: string };
}

export interface DeployedOperator {
  readonly process: RunningProcess;
  readonly streamUrl: string;
  readonly adminUrl: string;
}

export interface DeployedGateway {
  readonly process: RunningProcess;
  /** The folder with the spool and the copy of the configuration. */
  readonly dataDir: string;
  readonly url: string;
  readonly adminUrl: string;
}

export interface Deployment {
  readonly operators: readonly DeployedOperator[];
  readonly gateways: readonly DeployedGateway[];
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 40_000;

/**
 * Runs operators and gateways as processes of this machine, in place of the chart's pods, with a real cluster. The operators have
 * the token of their ServiceAccount. The gateways have no cluster credentials, only the stream certificates that a kubelet would
 * mount.
 */
export const deploy = async (options: DeployOptions): Promise<Deployment> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'standin-deployment-'));
  const operators = await startOperators(options);
  const tlsDir = options.certificateDirs?.gateway ?? path.join(directory, 'tls');
  // Gateways need only the certificates to start, so they do not wait for the operators.
  const withGateways = async (): Promise<readonly DeployedGateway[]> => {
    if (options.certificateDirs === undefined) await mountStreamCertificates(options, tlsDir);
    return startGateways(options, { directory, tlsDir, operators });
  };
  const [gateways] = await Promise.all([withGateways(), ...operators.map(untilReady)]);
  const all = [...gateways, ...operators].map(({ process }) => process);
  return {
    operators,
    gateways,
    stop: async () => {
      await Promise.all(all.map((process) => process.kill('SIGKILL')));
      await rm(directory, { recursive: true, force: true });
    },
  };
};

const untilReady = ({ process, adminUrl }: Pick<DeployedOperator, 'process' | 'adminUrl'>): Promise<void> =>
  process.waitForUrl(`${adminUrl}/readyz`, READY_TIMEOUT_MS);

/** Does not wait until they are ready. */
const startOperators = async (options: DeployOptions): Promise<readonly DeployedOperator[]> => {
  const { cluster, systemNamespace = SYSTEM_NAMESPACE } = options;
  const kubeconfig = await cluster.tokenKubeconfig(systemNamespace, OPERATOR_SERVICE_ACCOUNT);
  const names = Array.from({ length: options.operators ?? 1 }, (_, index) => `operator-${index}`);
  return Promise.all(
    names.map(async (name) => {
      const [streamPort, adminPort] = [await freePort(), await freePort()];
      const streamUrl = `https://127.0.0.1:${streamPort}`;
      const env = {
        STANDIN_NAME: name,
        STANDIN_KUBECONFIG: kubeconfig,
        STANDIN_NAMESPACE: systemNamespace,
        STANDIN_STREAM_HOST: '127.0.0.1',
        STANDIN_STREAM_PORT: String(streamPort),
        STANDIN_STREAM_URL: streamUrl,
        STANDIN_ADMIN_HOST: '127.0.0.1',
        STANDIN_ADMIN_PORT: String(adminPort),
        STANDIN_GATEWAY_URL: 'http://standin.test',
        ...(options.certificateDirs && { STANDIN_STREAM_CERTIFICATE_DIR: options.certificateDirs.operator }),
        ...options.operatorEnv,
      };
      const process = startProcess({ name, main: 'operator/src/main.ts', env, nodeArgs: CHART_NODE_ARGS });
      return { process, streamUrl, adminUrl: `http://127.0.0.1:${adminPort}` };
    }),
  );
};

/**
 * Writes the stream certificates as files, as the kubelet mounts them for a pod of a gateway or the dashboard. These are three keys of
 * the operator's Secret, without the CA's private key.
 */
export const mountStreamCertificates = async (
  { cluster, systemNamespace = SYSTEM_NAMESPACE }: Pick<DeployOptions, 'cluster' | 'systemNamespace'>,
  dir: string,
  component: 'gateway' | 'dashboard' = 'gateway',
): Promise<void> => {
  const secret = {
    group: '',
    version: 'v1',
    plural: 'secrets',
    namespace: systemNamespace,
    name: 'standin-stream-tls',
  };
  const client = loadKubeClient({ kubeconfigPath: cluster.kubeconfigPath });
  const read = () => client.get<{ readonly data: Readonly<Record<string, string>> }>(resourcePath(secret));
  const { data } = await eventually('the Secret with the stream certificates', read, {
    timeoutMs: READY_TIMEOUT_MS,
  }).finally(() => client.close());
  await mkdir(dir, { recursive: true });
  for (const [key, file] of [
    ['ca.crt', 'ca.crt'],
    [`${component}.crt`, 'tls.crt'],
    [`${component}.key`, 'tls.key'],
  ] as const) {
    await writeFile(path.join(dir, file), Buffer.from(data[key] ?? '', 'base64'), { mode: 0o600 });
  }
};

const startGateways = async (
  options: DeployOptions,
  place: { readonly directory: string; readonly tlsDir: string; readonly operators: readonly DeployedOperator[] },
): Promise<readonly DeployedGateway[]> => {
  const names = Array.from({ length: options.gateways ?? 3 }, (_, index) => `gateway-${index}`);
  return Promise.all(
    names.map(async (name, index) => {
      const [port, adminPort] = [await freePort(), await freePort()];
      const { gatewayEnv } = options;
      const dataDir = path.join(place.directory, name);
      const env = {
        STANDIN_NAME: name,
        STANDIN_HOST: '127.0.0.1',
        STANDIN_PORT: String(port),
        STANDIN_ADMIN_HOST: '127.0.0.1',
        STANDIN_ADMIN_PORT: String(adminPort),
        STANDIN_DATA_DIR: dataDir,
        STANDIN_OPERATOR_URLS: place.operators.map(({ streamUrl }) => streamUrl).join(','),
        STANDIN_OPERATOR_TLS_DIR: place.tlsDir,
        STANDIN_DRAIN_MS: '0',
        ...options.clickHouse.env,
        ...(typeof gatewayEnv === 'function' ? await gatewayEnv(index, place.operators) : gatewayEnv),
      };
      const process = startProcess({ name, main: 'gateway/src/main.ts', env, nodeArgs: CHART_NODE_ARGS });
      const gateway = { process, dataDir, url: `http://127.0.0.1:${port}`, adminUrl: `http://127.0.0.1:${adminPort}` };
      await untilReady(gateway);
      return gateway;
    }),
  );
};
