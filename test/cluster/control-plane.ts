import type { ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../harness/ports.ts';
import { hasEnded, readLogTail, startInBackground, stopInBackground } from './background-process.ts';
import { kubeconfigYaml } from './kubeconfig.ts';

/** A running Kubernetes control plane: API server, etcd and controller manager. */
export interface ControlPlane {
  /** `https://ADDRESS:PORT`, unchanged after a restart. */
  readonly server: string;
  /** The kubeconfig of a user in system:masters. */
  readonly kubeconfigPath: string;
  /**
   * Stops the API server with its etcd and waits until they have ended. SIGKILL simulates a crash. The objects survive both
   * signals.
   */
  stopApiServer(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts the API server again and waits until it is ready. */
  startApiServer(): Promise<void>;
  /** Stops all parts without a graceful shutdown, because the objects are not used again. */
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 90_000;
const READY_POLL_MS = 100;
/** A part of the message that kube-apiserver logs if another program uses its port. */
const PORT_IS_TAKEN = 'bind: address already in use';
/** The default address range of Services. Without nodes, these addresses only appear in objects. */
const SERVICE_RANGE = '10.0.0.0/24';

export interface ControlPlaneOptions {
  /** The IPv4 address of this machine on which the API server listens. Pods cannot reach the default, 127.0.0.1. */
  readonly address?: string;
  /** The address range of Services. */
  readonly serviceRange?: string;
  /** Flags of kube-apiserver in addition to those of every cluster. */
  readonly apiServerArgs?: readonly string[];
}

/** The options of a control plane, with its folder, program, port and administrator token. */
interface Layout extends Required<ControlPlaneOptions> {
  readonly directory: string;
  readonly programPath: string;
  readonly port: number;
  readonly token: string;
}

/**
 * Starts a control plane that stores everything in `directory` (created if missing, expected to be empty). RBAC is enabled.
 * `programPath` is the result of buildGoProgram('cluster'). The processes of the control plane end with this process, even if this
 * process is killed.
 */
export const startControlPlane = async (
  programPath: string,
  directory: string,
  { address = '127.0.0.1', serviceRange = SERVICE_RANGE, apiServerArgs = [] }: ControlPlaneOptions = {},
): Promise<ControlPlane> => {
  const token = randomBytes(32).toString('hex');
  const port = await freePort(address);
  const layout: Layout = { directory, programPath, port, token, address, serviceRange, apiServerArgs };
  const inDirectory = (name: string): string => path.join(directory, name);
  await writeCredentials(layout);
  const server = `https://${address}:${port}`;
  const kubeconfigPath = inDirectory('kubeconfig');

  let apiServer: ChildProcess | undefined;
  let controllerManager: ChildProcess | undefined;
  const stopApiServer = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    await stopInBackground(apiServer, signal);
    apiServer = undefined;
  };
  const startApiServer = async (): Promise<void> => {
    if (apiServer !== undefined) throw new Error('the API server is running');
    const start = async (): Promise<void> => {
      apiServer = startProgram(layout, 'api', allApiServerArgs(layout));
      await untilReady(layout, apiServer);
    };
    // The cluster program chooses a random free port for etcd, which may be the one that the API server binds next. At the next
    // start, it chooses another port.
    await start().catch((error: unknown) => {
      if (!String(error).includes(PORT_IS_TAKEN)) throw error;
      return start();
    });
  };
  const stop = async (): Promise<void> => {
    await Promise.all([stopInBackground(controllerManager, 'SIGKILL'), stopApiServer('SIGKILL')]);
  };

  try {
    await startApiServer();
    const certificate = await readFile(inDirectory('apiserver.crt'));
    const kubeconfig = kubeconfigYaml({ server, certificate, token: layout.token, user: 'admin' });
    await writeFile(kubeconfigPath, kubeconfig, { mode: 0o600 });
    controllerManager = startProgram(layout, 'controller-manager', controllerManagerArgs(layout, kubeconfigPath));
  } catch (error) {
    await stop();
    throw error;
  }
  return { server, kubeconfigPath, stopApiServer, startApiServer, stop };
};

const writeCredentials = async ({ directory, token }: Layout): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const secret = { mode: 0o600 };
  await writeFile(path.join(directory, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), secret);
  await writeFile(path.join(directory, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(path.join(directory, 'tokens.csv'), `${token},admin,admin,"system:masters"\n`, secret);
};

const allApiServerArgs = ({ directory, address, port, serviceRange, apiServerArgs }: Layout): readonly string[] => [
  path.join(directory, 'etcd'),
  // The API server writes its self-signed certificate here. The certificate is the CA in the kubeconfigs.
  `--cert-dir=${directory}`,
  `--bind-address=${address}`,
  `--secure-port=${port}`,
  `--service-cluster-ip-range=${serviceRange}`,
  '--allow-privileged=true',
  '--authorization-mode=RBAC',
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${path.join(directory, 'sa.pub')}`,
  `--service-account-signing-key-file=${path.join(directory, 'sa.key')}`,
  `--token-auth-file=${path.join(directory, 'tokens.csv')}`,
  ...apiServerArgs,
];

const controllerManagerArgs = ({ directory }: Layout, kubeconfigPath: string): readonly string[] => [
  `--kubeconfig=${kubeconfigPath}`,
  `--service-account-private-key-file=${path.join(directory, 'sa.key')}`,
  `--root-ca-file=${path.join(directory, 'apiserver.crt')}`,
  '--leader-elect=false',
  '--use-service-account-credentials=false',
  // Disables the metrics port, because its default is fixed and several clusters may run at once.
  '--secure-port=0',
];

const startProgram = ({ directory, programPath }: Layout, name: string, args: readonly string[]): ChildProcess =>
  startInBackground({ name, program: programPath, args: [name, ...args], directory });

const untilReady = async (layout: Layout, child: ChildProcess): Promise<void> => {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let last = '';
  while (Date.now() < deadline && !hasEnded(child)) {
    last = await probeReadyz(layout).catch((error: unknown) => String(error));
    if (last === 'ok') return;
    await delay(READY_POLL_MS);
  }
  const log = await readLogTail({ name: 'api', directory: layout.directory });
  const what = hasEnded(child) ? 'ended' : `was not ready after ${READY_TIMEOUT_MS / 1000} s (${last.slice(0, 500)})`;
  throw new Error(`kube-apiserver ${what}. Its log ends with:\n${log}`);
};

const probeReadyz = async ({ directory, address, port, token }: Layout): Promise<string> => {
  const ca = await readFile(path.join(directory, 'apiserver.crt'));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { authorization: `Bearer ${token}` };
  request({ host: address, port, path: '/readyz', ca, headers, timeout: 5_000, agent: false }, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    response.on('end', () => resolve(body)).on('error', reject);
  })
    .on('error', reject)
    .on('timeout', () => reject(new Error('/readyz did not respond')))
    .end();
  return promise;
};
