import { HttpMethod, KubeConfig, makeInformer, RequestContext } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { SharedConnectionConfig } from './kube-config.ts';

// The reasons for a client of our own (ADR 040). If a test fails after an upgrade of client-node, review the decision.

const load = <C extends KubeConfig>(config: C): C => {
  // Any certificate will do, because nothing connects.
  const cluster = { name: 'cluster', server: 'https://127.0.0.1:1', caData: 'Y2E=', skipTLSVerify: false };
  config.loadFromClusterAndUser(cluster, { name: 'user' });
  return config;
};

const dispatcherOf = async (config: KubeConfig): Promise<unknown> => {
  const context = new RequestContext('https://127.0.0.1:1/', HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  return context.getDispatcher();
};

it('creates new connections for each call, unlike SharedConnectionConfig', async () => {
  const theirs = load(new KubeConfig());
  expect(await dispatcherOf(theirs)).not.toBe(await dispatcherOf(theirs));
  const ours = load(new SharedConnectionConfig());
  expect(await dispatcherOf(ours)).toBe(await dispatcherOf(ours));
  await ours.close();
});

it('has an informer that ends at the first failed list', async () => {
  let lists = 0;
  const informer = makeInformer(load(new KubeConfig()), '/api/v1/pods', () => {
    lists += 1;
    return Promise.reject(new Error('the server is unavailable'));
  });
  const errors: unknown[] = [];
  informer.on('error', (error) => errors.push(error));
  // `start` resolves when the informer has stopped. No timer is left that could list again.
  await informer.start();
  expect([lists, errors.length]).toEqual([1, 1]);
});
