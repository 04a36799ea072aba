import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { buffer } from 'node:stream/consumers';
import { startEmbeddedEngine } from '@standin/engine';
import { createTempFolder } from './temp-folder.ts';

/** The name of a cluster with two replicas of one shard. Both are the same engine, so both have all the data. */
const CLUSTER = 'main';
/** The name of a cluster that has a third, unreachable replica. */
export const DEGRADED_CLUSTER = 'degraded';

const REPLICAS = ['127.0.0.1', 'localhost'];
/** A loopback address that is not the engine's own, so that the engine must connect to it. */
const UNREACHABLE = '127.0.0.2';

const clusterXml = (name: string, hosts: readonly string[]): string => {
  const replicas = hosts.map((host) => `<replica><host>${host}</host><port>9000</port></replica>`);
  return `<${name}><shard><internal_replication>true</internal_replication>${replicas.join('')}</shard></${name}>`;
};

/**
 * The configuration of both clusters. The engine treats every address of this machine with tcp_port as itself, although it does not
 * listen on that port.
 */
const CONFIG = `<clickhouse><tcp_port>9000</tcp_port><remote_servers>
${clusterXml(CLUSTER, REPLICAS)}
${clusterXml(DEGRADED_CLUSTER, [...REPLICAS, UNREACHABLE])}
</remote_servers></clickhouse>
`;

/**
 * Removes ON CLUSTER and replication from CREATE and ALTER statements, because the engine can neither run statements on other
 * servers nor replicate tables. Distributed tables and reads from all replicas stay unchanged.
 */
const withoutReplication = (sql: string): string =>
  sql.replace(/ ON CLUSTER \w+/, '').replace(/Replicated(ReplacingMergeTree)\('[^']*', '[^']*', /, '$1(');

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding']);
const endToEnd = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));

const forward = async (engineUrl: string, incoming: IncomingMessage, answer: ServerResponse): Promise<void> => {
  const body = await buffer(incoming);
  const isChange = /^\s*(CREATE|ALTER)\s/.test(body.subarray(0, 100).toString('latin1'));
  const sent = isChange ? Buffer.from(withoutReplication(body.toString('utf8'))) : body;
  const outgoing = request(new URL(incoming.url ?? '/', engineUrl), {
    method: incoming.method ?? 'POST',
    headers: { ...endToEnd(incoming.headers), 'content-length': sent.byteLength },
  });
  outgoing.end(sent);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  answer.writeHead(response.statusCode ?? 500, response.headers);
  await pipeline(response, answer);
};

/** Starts the embedded engine as the cluster `CLUSTER`, as far as one engine can act as a cluster. */
export const startClickHouseCluster = async () => {
  const dataDir = await createTempFolder('clickhouse-cluster');
  const configFile = path.join(dataDir, 'config.xml');
  await writeFile(configFile, CONFIG);
  const engine = await startEmbeddedEngine({ dataDir, configFile });
  const front = createServer((incoming, answer) => {
    forward(engine.url, incoming, answer).catch((error: unknown) => answer.destroy(error as Error));
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    username: engine.username,
    password: engine.password,
    database: 'standin',
    cluster: CLUSTER,
    env: {},
    get pid() {
      return engine.pid;
    },
    stop: async () => {
      front.close();
      await engine.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
