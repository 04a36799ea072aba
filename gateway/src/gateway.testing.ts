import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  configKey,
  type AccountConfig,
  type ConfigObject,
  type EndpointConfig,
  type HeaderPair,
  type ProjectConfig,
} from '@standin/contract';
import { pino } from 'pino';
import { compile } from './config/compile.ts';
import { FakeOperator } from './config/fake-operator.testing.ts';
import { makeStreamCertificates, type StreamCertificates } from './config/stream-certificates.testing.ts';
import { MemorySink } from './deliver/memory-sink.testing.ts';
import { runGateway, type Gateway, type GatewayOptions } from './gateway.ts';
import { RoutingTable } from './match/routing-table.ts';
import { nodeDisk, type SpoolDisk } from './record/spool/spool-disk.ts';
import { OldestRequests } from './request/oldest-requests.ts';
import { gatewaySettings, type GatewaySettings } from './settings.ts';

export const KEY = 'sk_0123456789abcdef0123456789abcdef';
export const OTHER_KEY = 'sk_fedcba9876543210fedcba9876543210';
export const URI = 'k3v9k3v9k3v9k3v9';

/** The path of the mock for POST in `BASIC_OBJECTS`. */
export const PATH = `/${URI}/v1/orders`;
export const HOST = 'Host: gateway';
export const WITH_KEY = `x-api-key: ${KEY}`;

/** Returns the latin1 text of a request. */
export const request = (method: string, target: string, lines: readonly string[], body = ''): string =>
  `${method} ${target} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export const account = (name: string, key: string): AccountConfig => ({
  kind: 'Account',
  uid: `account-${name}`,
  namespace: 'team-a',
  name,
  plan: 'Free',
  keySha256: sha256(key),
});

export const project = (name: string, uri: string, accountName = 'own'): ProjectConfig => ({
  kind: 'Project',
  uid: `project-${name}`,
  namespace: 'team-a',
  name,
  accountUid: `account-${accountName}`,
  uri,
  url: `https://mocks.example.com/${uri}`,
  retentionDays: 30,
});

export const endpoint = (
  slug: string,
  action: Partial<EndpointConfig['action']> = {},
  more: Partial<EndpointConfig> = {},
): EndpointConfig => {
  const method = more.method ?? 'POST';
  const name = `${method.toLowerCase()}${slug.replaceAll('/', '-')}`;
  const mock = { kind: 'JSON', status: 200, headers: [] as HeaderPair[], body: '{"id": 1}' } as const;
  return {
    kind: 'Endpoint',
    uid: `endpoint-${name}`,
    namespace: 'team-a',
    name,
    projectUid: 'project-shop',
    generation: 1,
    slug,
    method,
    action: {
      ...(action.kind === 'Forward' ? { timeoutMs: 2_000, viaService: false } : mock),
      ...action,
    } as EndpointConfig['action'],
    ...more,
  };
};

/** Two accounts with a project each, and one mock. */
export const BASIC_OBJECTS: readonly ConfigObject[] = [
  account('own', KEY),
  account('other', OTHER_KEY),
  project('shop', URI),
  project('theirs', 'theirs0123456789', 'other'),
  endpoint('/v1/orders'),
];

export interface TestGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly operator: FakeOperator;
  readonly sink: MemorySink;
  readonly certificates: StreamCertificates;
  readonly dataDir: string;
  readonly settings: GatewaySettings;
}

export interface TestGatewayOptions {
  readonly settings?: Record<string, unknown>;
  readonly objects?: readonly ConfigObject[];
  readonly sink?: MemorySink;
  readonly spoolDisk?: SpoolDisk;
  readonly onRejected?: GatewayOptions['onRejected'];
}

/** Creates a folder with the files that `operator.tls.dir` needs. */
export const writeCertificates = async (dir: string, { ca, client }: StreamCertificates): Promise<void> => {
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'ca.crt'), ca);
  await writeFile(join(dir, 'tls.crt'), client.cert);
  await writeFile(join(dir, 'tls.key'), client.key);
};

/** Returns settings for a gateway that listens on free ports and keeps everything below `dir`. */
export const testSettings = (dir: string, more: Record<string, unknown> = {}): GatewaySettings =>
  gatewaySettings.parse({
    host: '127.0.0.1',
    port: 0,
    admin: { host: '127.0.0.1', port: 0 },
    name: `gateway-${randomUUID().slice(0, 8)}`,
    dataDir: join(dir, 'data'),
    // Faster than `disk`, which the spool tests cover.
    durability: 'process',
    drainMs: 0,
    drainTimeoutMs: 2_000,
    ...more,
    operator: { tls: { dir: join(dir, 'tls') }, ...(more['operator'] as object | undefined) },
  });

/** Returns when the oldest request that a part of the gateway reports was received, of all projects or of one. */
export const oldestReceivedMs = (holder: { addOldest(to: OldestRequests): void }, projectUid?: string): number => {
  const oldest = new OldestRequests();
  holder.addOldest(oldest);
  const { byProject, ofAnyProject } = oldest;
  const known = [...byProject].filter(([uid]) => projectUid === undefined || uid === projectUid);
  return Math.min(ofAnyProject, ...known.map(([, { receivedMs }]) => receivedMs));
};

export const compileTable = (objects: readonly ConfigObject[]): RoutingTable => {
  const table = new RoutingTable();
  for (const object of objects) table.put(configKey(object), compile(object));
  return table;
};

/** The URL of a server that listens on loopback. */
export const serverUrl = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

export const fetchMetrics = async ({ adminUrl }: Gateway): Promise<string> =>
  (await fetch(`${adminUrl}/metrics`)).text();

export const quiet = pino({ level: 'silent' });

/** Starts a gateway with a fake operator and an in-memory log. Resolves when it has acknowledged `objects`. */
export const startTestGateway = async (options: TestGatewayOptions = {}): Promise<TestGateway> => {
  const dir = await mkdtemp(join(tmpdir(), 'standin-gateway-'));
  const certificates = await makeStreamCertificates();
  await writeCertificates(join(dir, 'tls'), certificates);
  const operator = await FakeOperator.listen(certificates);
  const settings = testSettings(dir, { operator: { urls: [operator.url] }, ...options.settings });
  const sink = options.sink ?? new MemorySink();
  const { spoolDisk = nodeDisk, onRejected } = options;
  const gateway = await runGateway({ settings, logger: quiet, logSink: sink, spoolDisk, onRejected });
  await operator.acked(operator.revision);
  await operator.publish(options.objects ?? BASIC_OBJECTS);
  return {
    gateway,
    operator,
    sink,
    certificates,
    dataDir: settings.dataDir,
    settings,
    [Symbol.asyncDispose]: async () => {
      await gateway.stop();
      await operator.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
};
