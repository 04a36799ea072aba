import { ApiError } from '@standin/kube';
import { beforeEach, expect, test } from 'vitest';
import { gatewayPods, type IsGatewayGone } from './gateway-pods.ts';

const NAMESPACE = '/api/v1/namespaces/system';

/** Phases by pod name. */
let pods: Map<string, string>;
/** The names of the claims, or undefined if listing claims is forbidden. */
let claims: string[] | undefined;
let isGone: IsGatewayGone;

const refusal = (status: number, reason: string): ApiError => new ApiError(reason, { status, reason, request: 'GET' });
const answer = (path: string): unknown => {
  if (path === `${NAMESPACE}/persistentvolumeclaims`) {
    if (claims === undefined) throw refusal(403, 'Forbidden');
    return { metadata: { resourceVersion: '1' }, items: claims.map((name) => ({ metadata: { name } })) };
  }
  const phase = pods.get(path.replace(`${NAMESPACE}/pods/`, ''));
  if (phase === undefined) throw refusal(404, 'NotFound');
  return { metadata: {}, status: { phase } };
};

beforeEach(() => {
  pods = new Map();
  claims = [];
  isGone = gatewayPods({ get: async <T>(path: string) => (await Promise.resolve(path).then(answer)) as T }, 'system');
});

test.each([
  ['Running', false],
  ['Unknown', false],
  ['Succeeded', true],
  ['Failed', true],
])('a pod in phase %s is gone: %s', async (phase, gone) => {
  pods.set('standin-gateway-1', phase);
  expect(await isGone('standin-gateway-1')).toBe(gone);
});

test('a StatefulSet pod is gone only when its claim is gone, because the next pod has the same volume', async () => {
  claims = ['data-standin-gateway-1', 'data-standin-gateway-12'];
  expect(await isGone('standin-gateway-1')).toBe(false);
  pods.set('standin-gateway-1', 'Failed');
  expect(await isGone('standin-gateway-1')).toBe(false);
  claims = ['data-standin-gateway-12', 'data-standin-gateway-11'];
  expect(await isGone('standin-gateway-1')).toBe(true);
});

test("without permission to list claims, a pod's state is unknown unless a Deployment created it", async () => {
  claims = undefined;
  await expect(isGone('standin-gateway-1')).rejects.toThrow('Forbidden');
  expect(await isGone('standin-gateway-5d4f7c9b68-x2x4z')).toBe(true);
  expect(await isGone('standin-gateway-5d4f7c9b68-22449')).toBe(true);
});
