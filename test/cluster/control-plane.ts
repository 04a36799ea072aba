import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../harness/ports.ts';
import { kubeconfigYaml } from './kubeconfig.ts';

/** A running Kubernetes control plane: API server, etcd and controller manager, without nodes. */
export interface ControlPlane {
  /** `https://127.0.0.1:PORT`, the same after a restart. */
  readonly server: string;
  /** Of a user in system:masters. */
  readonly kubeconfigPath: string;
  /** Resolves when it is gone. SIGKILL is a crash; the objects survive either. */
  stopApiServer(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Resolves when it is ready. */
  startApiServer(): Promise<void>;
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 90_000;
const READY_POLL_MS = 100;
const STOP_TIMEOUT_MS = 15_000;
const LOG_TAIL_CHARS = 3_000;

/** Where everything of one control plane lies. */
interface Layout {
  readonly directory: string;
  readonly programPath: string;
  readonly port: number;
  readonly token: string;
  readonly apiServerArgs: readonly string[];
}

/**
 * Starts a control plane that keeps everything in `directory` (made where missing, expected empty). RBAC is on. `programPath` is what
 * buildGoProgram('cluster') returned. Its processes end with this one, however this one ends.
 */
export const startControlPlane = async (
  programPath: string,
  directory: string,
  apiServerArgs: readonly string[] = [],
): Promise<ControlPlane> => {
  const token = randomBytes(32).toString('hex');
  const layout: Layout = { directory, programPath, port: await freePort(), token, apiServerArgs };
  const inDirectory = (name: string): string => path.join(directory, name);
  await writeCredentials(layout);
  const server = `https://127.0.0.1:${layout.port}`;
  const kubeconfigPath = inDirectory('kubeconfig');

  let apiServer: ChildProcess | undefined;
  let controllerManager: ChildProcess | undefined;
  const stopApiServer = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    await stopProcess(apiServer, signal);
    apiServer = undefined;
  };
  const startApiServer = async (): Promise<void> => {
    if (apiServer !== undefined) throw new Error('the API server is running');
    apiServer = startProcess(layout, 'api', allApiServerArgs(layout));
    await untilReady(layout, apiServer);
  };
  const stop = async (): Promise<void> => {
    await Promise.all([stopProcess(controllerManager, 'SIGKILL'), stopApiServer()]);
  };

  try {
    await startApiServer();
    const certificate = await readFile(inDirectory('apiserver.crt'));
    const kubeconfig = kubeconfigYaml({ server, certificate, token: layout.token, user: 'admin' });
    await writeFile(kubeconfigPath, kubeconfig, { mode: 0o600 });
    controllerManager = startProcess(layout, 'controller-manager', controllerManagerArgs(layout, kubeconfigPath));
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

const allApiServerArgs = ({ directory, port, apiServerArgs }: Layout): readonly string[] => [
  path.join(directory, 'etcd'),
  // Writes its self-signed certificate here, which serves as the CA of the kubeconfigs.
  `--cert-dir=${directory}`,
  '--bind-address=127.0.0.1',
  `--secure-port=${port}`,
  '--service-cluster-ip-range=10.0.0.0/24',
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
  // No metrics port: its default is one fixed port, and several clusters may run at once.
  '--secure-port=0',
];

const startProcess = ({ directory, programPath }: Layout, name: string, args: readonly string[]): ChildProcess => {
  const log = openSync(path.join(directory, `${name}.log`), 'a');
  try {
    // It ends when this pipe does, so a killed test run leaves nothing behind. Its own process group: Ctrl-C in a terminal must
    // reach us first, not everybody at once.
    const child = spawn(programPath, [name, ...args], { cwd: directory, stdio: ['pipe', log, log], detached: true });
    // A program that cannot be started has no pid, which hasEnded() sees.
    return child.on('error', () => undefined);
  } finally {
    closeSync(log);
  }
};

const stopProcess = async (child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> => {
  if (child === undefined || hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
};

const hasEnded = (child: ChildProcess): boolean =>
  child.exitCode !== null || child.signalCode !== null || child.pid === undefined;

const untilReady = async (layout: Layout, child: ChildProcess): Promise<void> => {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let last = '';
  while (Date.now() < deadline && !hasEnded(child)) {
    last = await probeReadyz(layout).catch((error: unknown) => String(error));
    if (last === 'ok') return;
    await delay(READY_POLL_MS);
  }
  const log = await readFile(path.join(layout.directory, 'api.log'), 'utf8').catch(() => '');
  const what = hasEnded(child) ? 'ended' : `was not ready after ${READY_TIMEOUT_MS / 1000} s (${last.slice(0, 500)})`;
  throw new Error(`kube-apiserver ${what}. Its log ends with:\n${log.slice(-LOG_TAIL_CHARS)}`);
};

const probeReadyz = async ({ directory, port, token }: Layout): Promise<string> => {
  const ca = await readFile(path.join(directory, 'apiserver.crt'));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { authorization: `Bearer ${token}` };
  request({ host: '127.0.0.1', port, path: '/readyz', ca, headers, timeout: 5_000, agent: false }, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    response.on('end', () => resolve(body)).on('error', reject);
  })
    .on('error', reject)
    .on('timeout', () => reject(new Error('/readyz did not answer')))
    .end();
  return promise;
};
