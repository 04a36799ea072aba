import type { ChildProcess } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CHARTS, helm as runHelm } from '../harness/helm.ts';
import { connectCluster, type Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { startInBackground, stopInBackground } from '../cluster/background-process.ts';
import { findKubectl } from '../cluster/kubectl.ts';
import { saveImages } from '../cluster/node/save-images.ts';
import { startNode, type ClusterNode } from '../cluster/node/start-node.ts';
import { runCommand } from '../cluster/run-command.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const CHART = path.join(CHARTS, 'standin');
/** A timeout that is longer than any operation of these tests on a busy machine. */
const WAIT_MS = 150_000;

/** The log as readers see it, with only the latest version of each id. */
const READ = '(SELECT * FROM log ORDER BY version DESC LIMIT 1 BY id)';

/** The columns of a log row that tests read. */
export interface StoredRow {
  readonly id: string;
  readonly body: string;
}

/** A real node with Standin's images. The tests install the chart. */
export class NodeStand {
  readonly node: ClusterNode;
  readonly cluster: Cluster;
  /** The folder for the test's own files. Stopping the node removes the folder. */
  readonly folder: string;
  readonly #forwards: ChildProcess[] = [];

  private constructor(node: ClusterNode, cluster: Cluster) {
    this.node = node;
    this.cluster = cluster;
    this.folder = node.logFolder;
  }

  static async start(): Promise<NodeStand> {
    await using images = await saveImages(console.log);
    const node = await startNode({ onProgress: console.log, images: images.files });
    return new NodeStand(node, await connectCluster(node.kubeconfigPath, node.logFolder));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#forwards.map((forward) => stopInBackground(forward, 'SIGKILL')));
    await this.node.stop();
  }

  /** Runs kubectl. If it fails, rejects with its error output. */
  async kubectl(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.cluster.kubectl(args, { timeoutMs: WAIT_MS });
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout.trim();
  }

  /** Runs kubectl in the release's namespace. */
  system(...args: readonly string[]): Promise<string> {
    return this.kubectl('-n', SYSTEM_NAMESPACE, ...args);
  }

  /** Runs helm with this checkout's chart. `install` and `upgrade` wait until everything is ready. */
  async helm(command: 'install' | 'upgrade' | 'uninstall', ...args: readonly string[]): Promise<string> {
    const place = ['-n', SYSTEM_NAMESPACE, '--kubeconfig', this.cluster.kubeconfigPath];
    const chart = command === 'uninstall' ? [] : [CHART, '--wait', '--timeout', `${WAIT_MS / 1000}s`];
    const { code, stdout, stderr } = await runHelm([command, 'standin', ...chart, ...place, ...args], {
      timeoutMs: WAIT_MS + 10_000,
    });
    if (code !== 0) throw new Error(`helm ${command} ended with ${code}: ${stderr}\n${await this.describe()}`);
    return stdout;
  }

  /** Returns the cluster address of one of the release's Services as `http://ADDRESS:PORT`. Callers on the node can reach it. */
  async serviceUrl(name: string): Promise<string> {
    const format = 'jsonpath={.spec.clusterIP}:{.spec.ports[0].port}';
    return `http://${await this.system('get', 'service', name, '-o', format)}`;
  }

  /** Returns the image of operator, gateway and dashboard. */
  image(): Promise<string> {
    const format = 'jsonpath={.spec.template.spec.containers[0].image}';
    return this.system('get', 'deployment', 'standin-operator', '-o', format);
  }

  /**
   * Returns the names of the objects in the release's namespace, without those of Kubernetes itself. Generated parts of names are
   * replaced with `…`, and each such name is listed only once.
   */
  async leftovers(): Promise<readonly string[]> {
    const kinds = await this.kubectl('api-resources', '--verbs=list', '-o', 'name', '--namespaced=true');
    const listed = kinds.split('\n').filter((kind) => !/^(events|pods\.metrics|endpoints$)/.test(kind));
    const names = (await this.system('get', listed.join(','), '-o', 'name', '--ignore-not-found')).split('\n');
    const known = names
      .filter((name) => !['configmap/kube-root-ca.crt', 'serviceaccount/default'].includes(name))
      .map((name) => name.replace(/(standin-claims|standin-quota|standin-gateway-drain)-[0-9a-z-]+$/, '$1-…'));
    return [...new Set(known)].sort();
  }

  /** Starts `kubectl port-forward` to one of the release's Services. Returns `http://localhost:PORT`. */
  async forward(name: string, port: number): Promise<string> {
    const logName = `forward-${name}`;
    const program = await findKubectl(console.log);
    const kubeconfig = `--kubeconfig=${this.cluster.kubeconfigPath}`;
    const args = [kubeconfig, 'port-forward', '-n', SYSTEM_NAMESPACE, `service/${name}`, `:${port}`];
    this.#forwards.push(startInBackground({ name: logName, program, args, directory: this.folder }));
    return eventually('the forwarded port', async () => {
      const log = await readFile(path.join(this.folder, `${logName}.log`), 'utf8');
      const [, local] = /127\.0\.0\.1:(\d+) ->/.exec(log) ?? [];
      return local === undefined ? undefined : `http://localhost:${local}`;
    }) as Promise<string>;
  }

  /** Runs `kubectl standin …`, the CLI as a kubectl plugin in the PATH. */
  async kubectlStandin(...args: readonly string[]): Promise<string> {
    const plugin = path.join(this.folder, 'kubectl-standin');
    await writeFile(plugin, `#!/bin/sh\nexec "${process.execPath}" "${path.join(ROOT, 'cli/bin/standin.js')}" "$@"\n`);
    await chmod(plugin, 0o755);
    const kubectl = await findKubectl(console.log);
    const env = {
      ...process.env,
      PATH: `${this.folder}:${process.env['PATH']}`,
      KUBECONFIG: this.cluster.kubeconfigPath,
      XDG_STATE_HOME: this.folder,
    };
    const { code, stdout, stderr } = await runCommand(kubectl, ['standin', ...args], { env });
    if (code !== 0) throw new Error(`kubectl standin ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  /**
   * Returns the stored rows of the requests with this query string. Each row is the latest version of its id, with only the first
   * line of the body.
   */
  async rows(query: string): Promise<readonly StoredRow[]> {
    const rows = await this.#select(
      `toString(id), substringIndex(toString(request_body), '\\n', 1) FROM ${READ} WHERE query = '${query}'`,
    );
    return rows.map(([id = '', body = '']) => ({ id, body }));
  }

  /** Returns by how much the stored requests with a permit outnumber their distinct permits, or 0 if no permit was used twice. */
  async duplicatePermits(): Promise<number> {
    const permit = 'account_uid, quota_period, quota_block, quota_permit';
    const [[count] = []] = await this.#select(`count() - uniqExact(${permit}) FROM ${READ} WHERE quota_block != ''`);
    return Number(count);
  }

  /** Queries the embedded ClickHouse through its Service, as the user in the chart's Secret. */
  async #select(columns: string): Promise<readonly (readonly string[])[]> {
    const { data } = JSON.parse(await this.system('get', 'secret', 'standin-clickhouse', '-o', 'json')) as {
      data: Record<'username' | 'password', string>;
    };
    const decode = (text: string): string => Buffer.from(text, 'base64').toString();
    const headers = { 'x-clickhouse-user': decode(data.username), 'x-clickhouse-key': decode(data.password) };
    const url = `${await this.serviceUrl('standin-clickhouse')}/?database=standin`;
    const response = await fetch(url, { method: 'POST', headers, body: `SELECT ${columns} FORMAT TSV` });
    const text = await response.text();
    if (!response.ok) throw new Error(`ClickHouse: ${text}`);
    return text.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')]));
  }

  /** Returns pods, events and the ends of the logs, for an error message. */
  async describe(): Promise<string> {
    const read = async (...args: readonly string[]): Promise<string> =>
      (await this.cluster.kubectl(['-n', SYSTEM_NAMESPACE, ...args])).stdout;
    const [pods, events, logs] = await Promise.all([
      read('get', 'pods', '-o', 'wide'),
      read('get', 'events', '--sort-by=.lastTimestamp', '-o', 'custom-columns=O:.involvedObject.name,M:.message'),
      read('logs', '-l', 'app.kubernetes.io/name=standin', '--tail=20', '--prefix', '--all-containers'),
    ]);
    return [pods, events.split('\n').slice(-30).join('\n'), logs].join('\n');
  }
}
