import type { KubeClient } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { missingFields } from '../../operator/src/check-crds.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';

let cluster: OwnCluster;
let client: KubeClient;

beforeAll(async () => {
  cluster = await startCluster();
  await installStandin(cluster);
  const kubeconfigPath = await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT);
  client = loadKubeClient({ kubeconfigPath });
});
afterAll(async () => {
  await client.close();
  await cluster.stop();
});

const missing = async () => Object.fromEntries(await missingFields(client));

test('the operator finds no missing fields in current CRDs with its own permissions', async () => {
  expect(await eventually('the schemas', missing, { accept: (found) => Object.keys(found).length === 0 })).toEqual({});
});

test('the operator names the fields that the API server drops with older CRDs', async () => {
  const versions = '/spec/versions/0/schema/openAPIV3Schema/properties';
  const remove = (path: string) => ({ op: 'remove', path: `${versions}/${path}` });
  const patch = [
    remove('spec/properties/monthlyQuota'),
    remove('status/properties/usage/properties/period'),
    remove('status/properties/apiKey'),
  ];
  const crd = ['patch', 'crd', 'mockaccounts.standin.dev', '--type=json', '-p', JSON.stringify(patch)];
  const { code, stderr } = await cluster.kubectl(crd);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const found = await eventually('the older schema', missing, {
    accept: ({ Account = [] }) => Account.length > 0,
    timeoutMs: 30_000,
  });
  expect(found).toEqual({ Account: ['spec.monthlyQuota', 'status.apiKey', 'status.usage.period'] });
});
