import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { STREAM_SERVER_NAME } from '@standin/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { planCertificates, type Certificates } from '../../operator/src/publish/certificates.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import type { Cluster } from '../harness/cluster.ts';
import { deploy, type DeployedGateway, type DeployedOperator, type Deployment } from '../harness/deployment.ts';
import { asList, parseObjects, renderChart } from '../harness/helm.ts';
import { createNamespace, deleteNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { post, Tenant } from './tenant.ts';

/**
 * Tests an operator and a gateway with certificates from another tool, such as cert-manager. The certificates are files in two
 * folders, like mounted Secrets, and are replaced while both processes are running.
 */

let cluster: Cluster;
let clickHouse: TestClickHouse;
let deployment: Deployment;
let system: string;
let team: Tenant;
let folder: string;
let certificates: Certificates;

const certificateDir = (side: 'operator' | 'gateway'): string => path.join(folder, side);

/** Writes new certificates from a new CA into both folders. */
const issue = async (): Promise<Certificates> => {
  const issued = await planCertificates(undefined, new Date());
  for (const side of ['operator', 'gateway'] as const) {
    await mkdir(certificateDir(side), { recursive: true });
    const files = { 'ca.crt': issued.caBundle, 'tls.crt': issued[side].cert, 'tls.key': issued[side].key };
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(certificateDir(side), name);
      await writeFile(`${file}.new`, text, { mode: 0o600 });
      await rename(`${file}.new`, file);
    }
  }
  return issued;
};

beforeAll(async () => {
  [cluster, clickHouse] = await Promise.all([sharedCluster(), startClickHouse()]);
  folder = await createTempFolder('stream-tls');
  certificates = await issue();
  system = await createNamespace(cluster, 'test-system');
  team = await Tenant.create(cluster, await createNamespace(cluster));
  const rights = await renderChart({
    chartCase: 'namespaced',
    namespace: system,
    set: [`watch.namespaces={${team.namespace}}`],
    only: ['service-accounts', 'operator/rbac'].map((name) => `templates/${name}.yaml`),
  });
  await cluster.apply(asList(parseObjects(rights)));
  deployment = await deploy({
    cluster,
    clickHouse,
    operators: 1,
    gateways: 1,
    systemNamespace: system,
    certificateDirs: { operator: certificateDir('operator'), gateway: certificateDir('gateway') },
    operatorEnv: { STANDIN_WATCH_NAMESPACES: team.namespace },
  });
  await team.accountAndProject();
});
afterAll(async () => {
  await deployment.stop();
  await team.client.close();
  await clickHouse.stop();
  for (const name of [system, team.namespace]) await deleteNamespace(cluster, name);
});

const [operator, gateway] = [
  (): DeployedOperator => deployment.operators[0] as DeployedOperator,
  (): DeployedGateway => deployment.gateways[0] as DeployedGateway,
];

const expectMock = async (name: string, body: string): Promise<void> => {
  await team.mock(name, body);
  await team.untilReason('Endpoint', name, 'Ready');
  const key = await team.readSecret('team-api-key');
  expect(await post(gateway(), `${await team.projectPath()}/${name}`, key)).toEqual({ status: 200, body });
};

/** Returns the status of the stream's response to a gateway with these certificates. */
const connectAs = async ({ caBundle, gateway: own }: Certificates): Promise<number | undefined> => {
  const url = new URL('/v1/config?gateway=probe&instance=probe', operator().streamUrl);
  const request = httpsRequest(url, { ca: caBundle, ...own, servername: STREAM_SERVER_NAME, agent: false });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.destroy();
  return response.statusCode;
};

test('the gateway gets its configuration, and the operator creates no certificates', async () => {
  await expectMock('orders', '"before"');
  const { stdout } = await cluster.kubectl(['get', 'secret', '-n', system, '-o', 'name']);
  expect(stdout).not.toContain('stream-tls');
});

test('certificates from another CA are used without a restart or an interruption', async () => {
  const before = certificates;
  certificates = await issue();
  await operator().process.waitForEvent(
    'the new certificates',
    ({ msg }) => msg === 'config stream certificates changed',
    30_000,
  );
  expect(await connectAs(certificates)).toBe(200);
  await expect(connectAs(before)).rejects.toThrow();
  // The existing connection stays open.
  await expectMock('invoices', '"after"');
});
