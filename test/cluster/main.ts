/**
 * `npm run cluster` runs a Kubernetes API server with Standin's CRDs in the foreground until Ctrl-C. `npm run cluster -- --node`,
 * as root, also runs a real node.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connectCluster, type Cluster } from '../harness/cluster.ts';
import { installStandin, OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { startControlPlane } from './control-plane.ts';
import { buildGoProgram, MissingToolError } from './go-program.ts';
import { isAlive } from './is-alive.ts';
import { findKubectl } from './kubectl.ts';
import { runNode } from './node/run-node.ts';

const FOLDER = path.join('.standin', 'cluster');
const KUBECONFIG = path.join(FOLDER, 'kubeconfig');
const OPERATOR_KUBECONFIG = path.join(FOLDER, `${SYSTEM_NAMESPACE}-${OPERATOR_SERVICE_ACCOUNT}.kubeconfig`);
const PID_FILE = path.join(FOLDER, 'pid');

const USAGE = `Usage: npm run cluster -- [--node] [--help]

Runs a Kubernetes API server with Standin's CRDs until you press Ctrl-C, and prints the value for KUBECONFIG. It stores objects, but
runs no pods. Requires Go. The first run builds the server in about five minutes. The kubeconfig and the logs are in .standin/cluster.

  --node  as root on Debian, also run a real node, with Standin's images
  --help  print this text

Examples:
  npm run cluster
  sudo npm run cluster -- --node`;

const main = async (): Promise<void> => {
  const { node, help } = readOptions();
  if (help) console.log(USAGE);
  else await (node ? runNode(untilStopped) : runControlPlane());
};

const readOptions = () => {
  try {
    return parseArgs({
      options: { node: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
    }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
};

/** Waits for SIGINT (Ctrl-C), SIGTERM or SIGHUP. Before the call, such a signal ends the process immediately. */
const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });

const runControlPlane = async (): Promise<void> => {
  const program = await buildGoProgram('cluster', console.log);
  await claimFolder();
  const controlPlane = await startControlPlane(program, path.resolve(FOLDER));
  const stopped = untilStopped();
  try {
    const cluster = await connectCluster(controlPlane.kubeconfigPath, path.resolve(FOLDER));
    const crds = await installStandin(cluster);
    await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT);
    console.log(await welcome(cluster, crds));
    await stopped;
    console.log('stopping and deleting all objects');
  } finally {
    await controlPlane.stop();
    await rm(FOLDER, { recursive: true, force: true });
  }
};

/**
 * Removes the files of a killed cluster, and creates the folder for this checkout's cluster. Throws MissingToolError if the cluster
 * is already running, because a second one would need a different path for its kubeconfig.
 */
const claimFolder = async (): Promise<void> => {
  if (existsSync(PID_FILE)) {
    const pid = Number(await readFile(PID_FILE, 'utf8'));
    if (pid > 0 && isAlive(pid)) {
      throw new MissingToolError(
        `A cluster for this checkout is already running (process ${pid}): KUBECONFIG=${KUBECONFIG}`,
      );
    }
  }
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true, mode: 0o700 });
  await writeFile(PID_FILE, String(process.pid));
};

const welcome = async (cluster: Cluster, crds: readonly string[]): Promise<string> => {
  const kubectl = await findKubectl(console.log);
  const { stdout } = await cluster.kubectl(['version', '-o', 'json']);
  const { serverVersion } = JSON.parse(stdout) as { serverVersion: { gitVersion: string } };
  return `
Kubernetes ${serverVersion.gitVersion} at ${cluster.server}, with RBAC, without nodes: it stores objects but schedules nothing.
CRDs: ${crds.length === 0 ? 'none; npm run generate creates them' : crds.map((name) => name.split('/')[1]).join(', ')}

  export KUBECONFIG=$PWD/${KUBECONFIG}${kubectl === 'kubectl' ? '' : `\n  alias kubectl=${kubectl}`}
  npx standin dev --kubeconfig $KUBECONFIG &    # operator, gateway and ClickHouse; without them, no object becomes Ready
  kubectl apply -f crds/examples/quickstart
  kubectl get standin --all-namespaces

The operator's own token, with the permissions in test/harness/rbac.yaml: ${OPERATOR_KUBECONFIG}
Logs: ${path.join(FOLDER, 'api.log')}, ${path.join(FOLDER, 'controller-manager.log')}
Ctrl-C stops it and deletes all objects.`;
};

main().catch((error: unknown) => {
  console.error(error instanceof MissingToolError ? error.message : error);
  process.exitCode = 1;
});
