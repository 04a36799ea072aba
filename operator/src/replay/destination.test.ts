import { configKey, type AuthorityConfig, type ResourceObject } from '@standin/contract';
import { Authority } from '@standin/egress';
import { describe, expect, test } from 'vitest';
import { ObjectCache } from '../object-cache.ts';
import { endpoint } from '../translate/translator.testing.ts';
import { Destinations } from './destination.ts';
import type { ReplayPlan } from './replay-plan.ts';

const AUTHORITY: AuthorityConfig = {
  kind: 'Authority',
  uid: 'default/ca/ca.crt',
  namespace: 'default',
  name: 'ca',
  certificates: 'PEM',
};

const planTo = (target?: string): ReplayPlan =>
  ({
    spec: { target: { kind: 'Upstream' }, ...(target !== undefined && { edit: { target } }) },
    project: { uid: 'p', namespace: 'default', name: 'shop' },
  }) as unknown as ReplayPlan;

const destinationsWith = (object: ResourceObject, plan: ReplayPlan, parent = 'p'): Destinations => {
  const cache = new ObjectCache();
  cache.put(object);
  return new Destinations(
    {
      secrets: { read: () => Promise.resolve(undefined) },
      cache,
      translator: {
        verdict: () => undefined,
        serviceFault: () => undefined,
        parentUid: () => parent,
        published: (key) => (key === configKey(AUTHORITY) ? AUTHORITY : undefined),
      },
      secretValue: () => undefined,
      gatewayUrl: 'http://gateway',
      clusterDomain: 'cluster.local',
    },
    plan,
  );
};

const findDestination = async (spec: Readonly<Record<string, unknown>>, path: string, target?: string) => {
  const object: ResourceObject = endpoint('orders', { action: 'Forward', ...spec });
  const destinations = destinationsWith(object, planTo(target));
  const found = await destinations.of({ endpoint: 'orders', endpointUid: object.metadata.uid, path });
  return typeof found === 'string' ? found : found.url;
};

test('the upstream of an Endpoint with a private authority is verified by it, and not called without it', async () => {
  const findTls = async (name: string) => {
    const tls = { caRef: { name }, serverName: 'internal' };
    const object = endpoint('orders', { action: 'Forward', forward: { url: 'https://a/', tls } });
    const destinations = destinationsWith(object, planTo());
    const entry = { endpoint: 'orders', endpointUid: object.metadata.uid, path: '/v1' };
    const [found, next] = [await destinations.of(entry), await destinations.of(entry)];
    if (typeof found === 'string' || typeof next === 'string') return found;
    expect(next.tls?.authority).toBe(found.tls?.authority);
    return found.tls;
  };
  expect(await findTls('ca')).toEqual({ authority: new Authority('PEM'), serverName: 'internal' });
  expect(await findTls('other')).toBe(
    'Endpoint orders has no usable certificates in spec.forward.tls.caRef: see its conditions.',
  );
});

describe('the upstream of an Endpoint whose slug has parameters', () => {
  const spec = { slug: '/v1/orders/{id}', forward: { url: 'https://api.example.com/orders/${path.id}' } };

  test('has the values of the captured path', async () => {
    expect(await findDestination(spec, '/v1/orders/4%202')).toBe('https://api.example.com/orders/4%202');
    expect(await findDestination(spec, '/v1/orders/a:b;c')).toBe('https://api.example.com/orders/a:b;c');
  });

  test('has the values of the edited path', async () => {
    const edited = await findDestination(spec, '/v1/orders/42', '/g95g/v1/orders/43?a=/x');
    expect(edited).toBe('https://api.example.com/orders/43');
  });

  test('is unknown if the path does not match the slug', async () => {
    expect(await findDestination(spec, '/v1/orders/42/items')).toBe(
      'The path of the request does not match the slug /v1/orders/{id} of Endpoint orders, so the URL of its upstream is unknown.',
    );
  });
});

test.each([
  [{ slug: '/a', forward: { url: 'https://api.example.com/${path.id}' } }, 'https://api.example.com/${path.id}'],
  [
    { slug: '/{id}', forward: { serviceRef: { name: 'warehouse', port: 80, path: '/x' } } },
    'http://warehouse.default.svc.cluster.local:80/x',
  ],
])('the upstream without inserted values is as written: %j', async (spec, url) => {
  expect(await findDestination(spec, '/42')).toBe(url);
});

test('an Endpoint that was created again is found by its name, in the same Project only', async () => {
  const object = endpoint('orders', { action: 'Forward', slug: '/a', forward: { url: 'https://api.example.com/' } });
  const entry = { endpoint: 'orders', endpointUid: 'uid of the deleted one', path: '/a' };
  expect(await destinationsWith(object, planTo()).of(entry)).toMatchObject({ url: 'https://api.example.com/' });
  expect(await destinationsWith(object, planTo(), 'other').of(entry)).toEqual(expect.any(String));
});
