import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import {
  CoreV1Api,
  createConfiguration,
  CustomObjectsApi,
  KubeConfig,
  PatchStrategy,
  ResponseContext,
  ServerConfiguration,
  setHeaderOptions,
  wrapHttpLibrary,
} from '@kubernetes/client-node';
import { KubeClient, type RequestOptions } from '@standin/kube';
import { SharedConnectionConfig } from '@standin/kube/kube-config';
import { startTlsUpstream } from '../e2e/tls-upstream.ts';
import { median, printTable } from './machine.ts';

/**
 * Compares `KubeClient` with client-node's generated APIs, over `KubeClient` and alone, for ADR 040: `node
 * test/bench/kubernetes-client.ts`. The API server is a process of its own that returns prepared responses over HTTPS.
 */

const ROUNDS = 21;
const OBJECT_BYTES = 20_000;
const PAGE_OBJECTS = 500;
const PAGE_OBJECT_BYTES = 16_000;
const TIME = '2026-01-01T00:00:00Z';
const THING = { group: 'example.com', version: 'v1', namespace: 'a', plural: 'things', name: 'x' };

const metadata = { name: 'x', namespace: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: TIME };
const status = { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', lastTransitionTime: TIME }] };

const thing = (bytes: number): object => {
  const routes = Array.from({ length: bytes / 100 }, (_, index) => ({
    path: `/${index}`.padEnd(60, 'x'),
    status: index,
  }));
  return { apiVersion: 'example.com/v1', kind: 'Thing', metadata, spec: { routes }, status };
};

const pod = (bytes: number): object => {
  const env = Array.from({ length: bytes / 100 }, (_, index) => ({ name: `VARIABLE_${index}`, value: 'x'.repeat(60) }));
  const containers = [{ name: 'main', image: 'image', env, ports: [{ name: 'http', containerPort: 8080 }] }];
  return { metadata, spec: { containers, nodeName: 'node' }, status: { ...status, phase: 'Running', startTime: TIME } };
};

const page = (kind: string, apiVersion: string, item: object): string =>
  JSON.stringify({
    kind,
    apiVersion,
    metadata: { resourceVersion: '1' },
    items: Array.from({ length: PAGE_OBJECTS }, () => item),
  });

const serve = async (): Promise<void> => {
  const data = Object.fromEntries(
    Array.from({ length: 20 }, (_, key) => [`key-${key}`, 'x'.repeat(OBJECT_BYTES / 20)]),
  );
  const bodies: Readonly<Record<string, string>> = {
    // Before `things`, which the path of a status also contains.
    status: JSON.stringify(thing(OBJECT_BYTES)),
    configmaps: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }),
    things: page('ThingList', 'example.com/v1', thing(PAGE_OBJECT_BYTES)),
    pods: page('PodList', 'v1', pod(PAGE_OBJECT_BYTES)),
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume().on('end', () => {
      const path = request.url?.split('?')[0] ?? '';
      const body = Object.entries(bodies).find(([part]) => path.split('/').includes(part))?.[1];
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
  };
  const { url, ca } = await startTlsUpstream(answer);
  process.send?.({ url, ca });
};

interface Case {
  readonly what: string;
  readonly calls: number;
  readonly client: () => Promise<unknown>;
  readonly over: () => Promise<unknown>;
  readonly alone: () => Promise<unknown>;
}

/** Returns the milliseconds of CPU of this process per call. */
const cpuPerCall = async (call: () => Promise<unknown>, calls: number): Promise<number> => {
  const before = process.cpuUsage();
  for (let count = 0; count < calls; count++) await call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / calls;
};

const measure = async ({ what, calls, ...ways }: Case) => {
  const results = new Map<string, number[]>();
  // The first round is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const order = Object.entries(ways);
    if (round % 2 === 1) order.reverse();
    for (const [way, call] of order) {
      const milliseconds = await cpuPerCall(call, calls);
      if (round > 0) results.set(way, [...(results.get(way) ?? []), milliseconds]);
    }
  }
  const show = (way: string): string => {
    const values = results.get(way) ?? [];
    return `${Math.min(...values).toFixed(2)} (${median(values).toFixed(2)})`;
  };
  return {
    'CPU per call in ms: lowest (median)': what,
    KubeClient: show('client'),
    'client-node over KubeClient': show('over'),
    'client-node alone': show('alone'),
  };
};

const run = async (): Promise<void> => {
  const server = fork(fileURLToPath(import.meta.url), ['serve']);
  const [{ url, ca }] = (await once(server, 'message')) as [{ url: string; ca: string }];
  const cluster = { name: 'c', server: url, caData: Buffer.from(ca).toString('base64'), skipTLSVerify: false };
  const config = new SharedConnectionConfig();
  config.loadFromClusterAndUser(cluster, { name: 'u', token: 't' });
  const writeRate = { qps: 1e6, burst: 1e6 };
  const client = new KubeClient({ config, writeRate });
  const sender = new KubeClient({ config, writeRate, parse: (body) => body.toString() });
  const over = createConfiguration({
    baseServer: new ServerConfiguration(url, {}),
    httpApi: wrapHttpLibrary({
      send: async (context) => {
        const method = context.getHttpMethod() as RequestOptions['method'];
        const sent = context.getBody();
        const text = await sender.request<string>({
          method,
          path: new URL(context.getUrl()).pathname,
          ...(typeof sent === 'string' && { body: JSON.parse(sent) as unknown }),
        });
        const body = {
          text: () => Promise.resolve(text),
          binary: () => Promise.reject(new Error()),
          stream: () => null,
        };
        return new ResponseContext(200, { 'content-type': 'application/json' }, body);
      },
    }),
  });
  const [coreOver, customOver] = [new CoreV1Api(over), new CustomObjectsApi(over)];
  const alone = new KubeConfig();
  alone.loadFromClusterAndUser(cluster, { name: 'u', token: 't' });
  const custom = alone.makeApiClient(CustomObjectsApi);
  const core = alone.makeApiClient(CoreV1Api);
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  const things = '/apis/example.com/v1/namespaces/a/things';

  const cases: readonly Case[] = [
    {
      what: 'write of a status, custom resource of 20 KB',
      calls: 100,
      client: () => client.mergePatch(`${things}/x/status`, { status }),
      over: () => customOver.patchNamespacedCustomObjectStatus({ ...THING, body: { status } }),
      alone: () => custom.patchNamespacedCustomObjectStatus({ ...THING, body: { status } }, merge),
    },
    {
      what: 'read of a ConfigMap of 20 KB',
      calls: 100,
      client: () => client.get('/api/v1/namespaces/a/configmaps/x'),
      over: () => coreOver.readNamespacedConfigMap({ namespace: 'a', name: 'x' }),
      alone: () => core.readNamespacedConfigMap({ namespace: 'a', name: 'x' }),
    },
    {
      what: 'page of 500 custom resources of 16 KB',
      calls: 2,
      client: () => client.get(things),
      over: () => customOver.listNamespacedCustomObject(THING),
      alone: () => custom.listNamespacedCustomObject(THING),
    },
    {
      what: 'page of 500 pods of 16 KB',
      calls: 2,
      client: () => client.get('/api/v1/namespaces/a/pods'),
      over: () => coreOver.listNamespacedPod({ namespace: 'a' }),
      alone: () => core.listNamespacedPod({ namespace: 'a' }),
    },
  ];
  const rows = [];
  for (const each of cases) rows.push(await measure(each));
  printTable(rows);
  const load =
    "const before = process.memoryUsage().rss; const start = process.cpuUsage(); await import('@kubernetes/client-node');" +
    'const { user, system } = process.cpuUsage(start);' +
    'console.log(`client-node takes ${Math.round((user + system) / 1e3)} ms of CPU and ${Math.round((process.memoryUsage().rss - before) / 2 ** 20)} MiB to load`);';
  console.log(
    `\n${execFileSync(process.execPath, ['--input-type=module', '--eval', load], { encoding: 'utf8' }).trim()}`,
  );
  await client.close();
  server.kill();
};

await (process.argv[2] === 'serve' ? serve() : run());
