import { GROUP_VERSION } from '@standin/contract';
import type { KubeClient } from '@standin/kube';
import { loadKubeClient } from '@standin/kube/load-kube-client';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { followClusterShares } from '../../dashboard/src/cluster/cluster-shares.ts';
import { Identities } from '../../dashboard/src/cluster/identities.ts';
import type { ShareSource } from '../../dashboard/src/shares/public-shares.ts';
import type { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { DASHBOARD_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { useNamespace } from '../harness/namespace.ts';
import { sharedCluster } from '../harness/shared-cluster.ts';

/**
 * Tests share links in a cluster with the permissions of the dashboard's ServiceAccount, which include reading Projects and Shares.
 */
describe("a cluster's Shares", () => {
  const stopping = new AbortController();
  let cluster: Cluster;
  let client: KubeClient;
  let shares: ShareSource;

  beforeAll(async () => {
    cluster = await sharedCluster();
    client = loadKubeClient({
      kubeconfigPath: await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, DASHBOARD_SERVICE_ACCOUNT),
    });
    const view = { client, namespaces: [], logger: pino({ level: 'silent' }), signal: stopping.signal };
    const identities = new Identities({
      holdIdentities: (claimed) => Promise.resolve(claimed.map(({ uid }) => uid === CONFIRMED_ID)),
    });
    shares = followClusterShares(view, identities);
  });
  afterAll(async () => {
    stopping.abort();
    await client.close();
  });

  const CONFIRMED_ID = 'uid of an earlier object';
  const token = (seed: number): string => seed.toString(16).padStart(64, '0');
  const project = { apiVersion: GROUP_VERSION, kind: 'Project', spec: { accountRef: { name: 'default' } } };
  const applyShare = async (namespace: string, tokenSha256: string): Promise<void> => {
    const spec = {
      projectRef: { name: 'shop' },
      requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe',
      tokenSha256,
      expiresAt: '2099-01-01T00:00:00Z',
    };
    const link = { apiVersion: GROUP_VERSION, kind: 'Share', metadata: { name: 'link', namespace }, spec };
    const items = [{ ...project, metadata: { name: 'shop', namespace } }, link];
    await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  };
  const finds = (tokenSha256: string) => eventually('the Share', () => shares.find(tokenSha256));
  const kubectl = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await cluster.kubectl(args);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };

  it('are found by token hash, with their Project, until they are revoked', async () => {
    const namespace = await useNamespace(cluster);
    const sha256 = token(Date.now());
    await applyShare(namespace, sha256);
    const { share, projectUid } = (await finds(sha256)) ?? {};
    expect(share?.metadata).toMatchObject({ name: 'link', namespace });
    expect(projectUid).toBe(await kubectl('get', 'mpr', 'shop', '-n', namespace, '-o', 'jsonpath={.metadata.uid}'));
    expect(await shares.find(token(Date.now() + 1))).toBeUndefined();
    await kubectl('delete', 'msh', 'link', '-n', namespace);
    expect(await shares.find(sha256)).toBeUndefined();
  });

  it('have their current status, not a cached one', async () => {
    const namespace = await useNamespace(cluster);
    const sha256 = token(Date.now());
    await applyShare(namespace, sha256);
    await finds(sha256);
    const condition = { type: 'Accepted', status: 'False', reason: 'NotInPlan', message: 'no', observedGeneration: 1 };
    const status = { conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }] };
    const patch = JSON.stringify({ status });
    await kubectl('patch', 'msh', 'link', '-n', namespace, '--subresource=status', '--type=merge', '-p', patch);
    expect((await shares.find(sha256))?.share.status).toMatchObject({ conditions: [condition] });
  });

  it('have the identity in the status of their Project, if the operator confirms it', async () => {
    const namespace = await useNamespace(cluster);
    const sha256 = token(Date.now());
    await applyShare(namespace, sha256);
    await finds(sha256);
    const setId = (id: string) => {
      const patch = JSON.stringify({ status: { id } });
      return kubectl('patch', 'mpr', 'shop', '-n', namespace, '--subresource=status', '--type=merge', '-p', patch);
    };
    await setId(CONFIRMED_ID);
    await expect.poll(async () => (await shares.find(sha256))?.projectUid).toBe(CONFIRMED_ID);
    await setId('uid of another project');
    await expect.poll(() => shares.find(sha256).catch((error: unknown) => String(error))).toContain('does not confirm');
  });

  it('are not found without their Project', async () => {
    const namespace = await useNamespace(cluster);
    const sha256 = token(Date.now());
    await applyShare(namespace, sha256);
    await finds(sha256);
    await kubectl('delete', 'mpr', 'shop', '-n', namespace);
    await eventually('the Share to be without a Project', async () => (await shares.find(sha256)) === undefined);
  });
});
