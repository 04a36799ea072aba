import { resourcePath, type KubeClient } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { deploy, type Deployment } from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin } from '../harness/install-standin.ts';

const NAMESPACE = 'bench';
/** The number of concurrent requests to the API server while the endpoints are created. */
const WRITERS = 16;
const PROJECT = 'shop';
const ACCOUNT = 'team';
const PROGRAMMED_TIMEOUT_MS = 120_000;

/** A real API server, one operator and three gateways, for benchmarks with many endpoints. */
export interface ClusterStand extends AsyncDisposable {
  readonly deployment: Deployment;
  readonly apiKey: string;
  /** Returns the path of an endpoint on the gateways, `/PROJECT-URI/SLUG`. */
  target(index: number): string;
  /**
   * Creates the endpoints with the indexes from `from` up to, but not including, `to`. Each has a mock and `responses` more, which have
   * conditions, an expression and a template. Resolves when every gateway has acknowledged them.
   */
  createEndpoints(from: number, to: number, responses?: number): Promise<void>;
  /** Changes an endpoint's mock. Resolves when the API server has acknowledged the write. */
  setBody(index: number, body: string): Promise<void>;
  /**
   * Returns the last revision that each gateway has acknowledged to the current leader. Returns no revisions while no operator
   * leads.
   */
  acknowledged(): Promise<readonly number[]>;
}

const path = (plural: string, name?: string): string =>
  resourcePath({
    group: 'standin.dev',
    version: 'v1alpha1',
    plural,
    namespace: NAMESPACE,
    ...(name === undefined ? {} : { name }),
  });

const object = (kind: string, name: string, spec: Record<string, unknown>) => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind,
  metadata: { name, namespace: NAMESPACE },
  spec,
});

const endpointName = (index: number): string => `endpoint-${index}`;

const thingBody = (index: number): string =>
  JSON.stringify({ id: index, name: `Thing ${index}`, description: 'x'.repeat(400) });

const endpoint = (index: number, responses: number) =>
  object('Endpoint', endpointName(index), {
    projectRef: { name: PROJECT },
    displayName: `Endpoint ${index}`,
    slug: `/v1/things/${index}`,
    method: 'GET',
    ...(responses > 0 && {
      responses: Array.from({ length: responses }, (_unused, number) => ({
        name: `plan-${number}`,
        when: {
          headers: [{ name: 'x-plan', value: `plan-${number}` }],
          cel: `request.json.total > ${index}.0 || request.json.items.exists(item, item.quantity > ${number})`,
        },
        template: 'CEL',
        body: thingBody(index).replace('Thing', '${request.json.name} ${uuid()}'),
      })),
    }),
    action: 'JSON',
    json: { body: thingBody(index) },
  });

/** Runs `work` for each index, with limited concurrency. */
const inParallel = async (from: number, to: number, work: (index: number) => Promise<unknown>): Promise<void> => {
  let next = from;
  const worker = async () => {
    while (next < to) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, worker));
};

const metricsText = async (adminUrl: string): Promise<string> => (await fetch(`${adminUrl}/metrics`)).text();

const metricValues = (metrics: string, name: string): number[] =>
  [...metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].map(([, value]) => Number(value));

const prepare = async (cluster: OwnCluster, client: KubeClient): Promise<void> => {
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }));
  await client.create(path('mockaccounts'), object('Account', ACCOUNT, { plan: 'Free' }));
  const project = { displayName: 'Shop', accountRef: { name: ACCOUNT } };
  await client.create(path('mockprojects'), object('Project', PROJECT, project));
};

/** Returns the account's key and the project's path. Waits until the operator has created them. */
const readAccess = async (client: KubeClient): Promise<{ apiKey: string; projectPath: string }> => {
  const secret = resourcePath({
    group: '',
    version: 'v1',
    plural: 'secrets',
    namespace: NAMESPACE,
    name: `${ACCOUNT}-api-key`,
  });
  const { data } = await eventually('the account’s key', () => client.get<{ data: Record<string, string> }>(secret));
  const { status } = await eventually(
    'the project’s URL',
    () => client.get<{ status?: { url?: string } }>(path('mockprojects', PROJECT)),
    { accept: (project) => project.status?.url !== undefined, timeoutMs: 30_000 },
  );
  return {
    apiKey: Buffer.from(data['api-key'] ?? '', 'base64').toString(),
    projectPath: new URL(status?.url ?? '').pathname,
  };
};

export const startClusterStand = async (): Promise<ClusterStand> => {
  const cleanups: (() => Promise<unknown>)[] = [];
  const dispose = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const cluster = await startCluster();
    cleanups.push(() => cluster.stop());
    const clickHouse: TestClickHouse = await startClickHouse();
    cleanups.push(() => clickHouse.stop());
    await installStandin(cluster);
    const writeRate = { qps: 100_000, burst: 100_000 };
    const client = loadKubeClient({ kubeconfigPath: cluster.kubeconfigPath, writeRate });
    cleanups.push(() => client.close());
    await prepare(cluster, client);
    const deployment = await deploy({ cluster, clickHouse, gatewayEnv: { STANDIN_LOG_LEVEL: 'warn' } });
    cleanups.push(() => deployment.stop());
    const { apiKey, projectPath } = await readAccess(client);

    const operatorMetrics = () => metricsText(deployment.operators[0]?.adminUrl ?? '');
    const acknowledged = async () => metricValues(await operatorMetrics(), 'standin_publish_gateway_revision');
    let created = 0;
    return {
      deployment,
      apiKey,
      target: (index) => `${projectPath}/v1/things/${index}`,
      createEndpoints: async (from, to, responses = 0) => {
        await inParallel(from, to, (index) => client.create(path('mockendpoints'), endpoint(index, responses)));
        created += to - from;
        // Returns whether the operator knows the Account, the Project and all endpoints, and each gateway has the newest revision.
        const isDone = async () => {
          const metrics = await operatorMetrics();
          const known = metricValues(metrics, 'standin_translate_objects').reduce((sum, count) => sum + count, 0);
          const [newest = Number.NaN] = metricValues(metrics, 'standin_publish_revision');
          const acked = metricValues(metrics, 'standin_publish_gateway_revision');
          return (
            known === created + 2 && acked.length === deployment.gateways.length && acked.every((n) => n === newest)
          );
        };
        await eventually('all endpoints on all gateways', isDone, { timeoutMs: PROGRAMMED_TIMEOUT_MS });
      },
      setBody: async (index, body) => {
        await client.mergePatch(path('mockendpoints', endpointName(index)), { spec: { json: { body } } });
      },
      acknowledged,
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
};
