import type { KubeClient } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import { authenticationApi, authorizationApi } from '@standin/kube/review-api';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

const USER = `system:serviceaccount:${SYSTEM_NAMESPACE}:${OPERATOR_SERVICE_ACCOUNT}`;
const PROJECTS = { group: 'standin.dev', resource: 'mockprojects', verb: 'list' };
const NODES = { group: '', resource: 'nodes', verb: 'delete' };

let operator: KubeClient;
let admin: KubeClient;
beforeAll(async () => {
  const cluster = await sharedCluster();
  operator = loadKubeClient({
    kubeconfigPath: await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT),
  });
  admin = loadKubeClient({ kubeconfigPath: cluster.kubeconfigPath });
});
afterAll(() => Promise.all([operator.close(), admin.close()]));

it('a user learns its own name', async () => {
  const { status } = await authenticationApi(operator).createSelfSubjectReview({ body: {} });
  expect(status?.userInfo?.username).toBe(USER);
});

it('a user learns its own permissions', async () => {
  const api = authorizationApi(operator);
  for (const [resourceAttributes, allowed] of [[PROJECTS, true] as const, [NODES, false] as const]) {
    const { status } = await api.createSelfSubjectAccessReview({ body: { spec: { resourceAttributes } } });
    expect(status?.allowed).toBe(allowed);
  }
  const { status } = await api.createSelfSubjectRulesReview({ body: { spec: { namespace: SYSTEM_NAMESPACE } } });
  expect(status?.resourceRules.flatMap(({ resources = [] }) => resources)).toContain('mockprojects');
});

it('an administrator learns the permissions of another user', async () => {
  const api = authorizationApi(admin);
  for (const [resourceAttributes, allowed] of [[PROJECTS, true] as const, [NODES, false] as const]) {
    const { status } = await api.createSubjectAccessReview({ body: { spec: { user: USER, resourceAttributes } } });
    expect(status?.allowed).toBe(allowed);
  }
});
