import type { ConfigObject, EndpointConfig } from '@standin/contract';
import { configKey } from '@standin/contract';
import { PathTable } from '@standin/responses';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compile } from '../config/compile.ts';
import { account, BASIC_OBJECTS, compileTable, endpoint, KEY, project, sha256, URI } from '../gateway.testing.ts';
import { Refusal } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import { match } from './match.ts';
import { RoutingTable } from './routing-table.ts';

const find = (table: RoutingTable, path: string, method = 'POST', uri = URI) => {
  const head = { method, path, projectUri: uri } as RequestHead;
  const found = match(
    head,
    { kind: 'key' as const, holders: table.accountsWithKey(sha256(KEY)), fingerprint: '', keySha256: '' },
    table,
  );
  return found instanceof Refusal ? found.code : found.endpoint.config.uid;
};

test.each([
  ['/v1/orders', 'endpoint-post-v1-orders'],
  ['/v1/orders/', 'endpoint_not_found'],
  ['/V1/orders', 'endpoint_not_found'],
  ['/v1//orders', 'endpoint_not_found'],
  ['/v1/%6Frders', 'endpoint_not_found'],
  ['', 'endpoint_not_found'],
  ['/__proto__', 'endpoint_not_found'],
  ['/constructor', 'endpoint_not_found'],
])('%s → %s', (path, expected) => {
  expect(find(compileTable(BASIC_OBJECTS), path)).toBe(expected);
});

describe('a slug with parameters', () => {
  const endpointUid = (slug: string, method: EndpointConfig['method'] = 'POST'): string =>
    endpoint(slug, {}, { method }).uid;
  const table = compileTable([
    ...BASIC_OBJECTS,
    endpoint('/v1/{kind}'),
    endpoint('/v1/{kind}', {}, { method: 'PUT' }),
    endpoint('/{version}/orders', {}, { method: 'GET' }),
    endpoint('/{version}/{rest...}', {}, { method: 'DELETE' }),
    endpoint('/{old}/{unknown:int}', { kind: 'Withheld' }, { method: 'PATCH' }),
    endpoint('/{old}/{rest...}', {}, { method: 'PATCH' }),
    endpoint('/v1/{kind}:new', { kind: 'Withheld' }),
    endpoint('/mistake/{id}', { kind: 'NotAccepted' }, { method: 'DELETE' }),
  ]);
  test.each([
    ['POST', '/v1/orders', endpointUid('/v1/orders')],
    ['POST', '/v1/other', endpointUid('/v1/{kind}')],
    ['GET', '/v1/orders', endpointUid('/{version}/orders', 'GET')],
    ['HEAD', '/v1/orders', endpointUid('/{version}/orders', 'GET')],
    ['HEAD', '/v1/other', 'method_not_allowed'],
    ['PUT', '/v1/orders', endpointUid('/v1/{kind}', 'PUT')],
    ['DELETE', '/v1/orders', endpointUid('/{version}/{rest...}', 'DELETE')],
    ['DELETE', '/a/b/c', endpointUid('/{version}/{rest...}', 'DELETE')],
    ['GET', '/v1/other', 'method_not_allowed'],
    ['GET', '/v1', 'endpoint_not_found'],
    ['DELETE', '/v1/', endpointUid('/{version}/{rest...}', 'DELETE')],
    ['POST', '/v1/', 'method_not_allowed'],
    ['POST', '/v1/%00', 'endpoint_not_found'],
    ['POST', '/v1/x:new', 'not_ready'],
    ['PATCH', '/v1/orders', 'not_ready'],
    ['DELETE', '/mistake/1', 'endpoint_not_accepted'],
    ['DELETE', '/mistake/1/2', endpointUid('/{version}/{rest...}', 'DELETE')],
    ['GET', '/mistake/1', 'method_not_allowed'],
  ])('%s %s → %s', (method, path, expected) => {
    expect(find(table, path, method)).toBe(expected);
  });

  test('is part of the route, with the values', () => {
    const head = { method: 'POST', path: '/v1/a%2Fb', projectUri: URI } as RequestHead;
    const route = match(
      head,
      { kind: 'key' as const, holders: table.accountsWithKey(sha256(KEY)), fingerprint: '', keySha256: '' },
      table,
    );
    expect(route).toMatchObject({ parameters: new Map([['kind', ['a/b']]]) });
  });

  test('has a part in the methods of a 405', () => {
    const head = { method: 'OPTIONS', path: '/v1/orders', projectUri: URI } as RequestHead;
    const refusal = match(
      head,
      { kind: 'key' as const, holders: table.accountsWithKey(sha256(KEY)), fingerprint: '', keySha256: '' },
      table,
    );
    expect(refusal).toMatchObject({ headers: [['allow', 'DELETE, GET, HEAD, PATCH, POST, PUT']] });
  });
});

describe('two accounts with the same key', () => {
  test('each reach only their own projects', () => {
    const twin = { ...account('twin', KEY) };
    const table = compileTable([
      ...BASIC_OBJECTS,
      twin,
      project('twins', 'twins0123456789x', 'twin'),
      endpoint('/t', {}, { projectUid: 'project-twins' }),
    ]);
    expect([find(table, '/v1/orders'), find(table, '/t', 'POST', 'twins0123456789x')]).toEqual([
      'endpoint-post-v1-orders',
      'endpoint-post-t',
    ]);
    table.remove(configKey(twin));
    expect([find(table, '/v1/orders'), find(table, '/t', 'POST', 'twins0123456789x')]).toEqual([
      'endpoint-post-v1-orders',
      'api_key_other_account',
    ]);
  });
});

test('the hint in a 404 response reflects changes to the endpoints', () => {
  const others = ['/V1/Orders', '/v1/orders//', '/'].map((slug) => endpoint(slug));
  const table = compileTable([...BASIC_OBJECTS, ...others, endpoint('/V1/Orders', {}, { method: 'GET' })]);
  const hint = () => table.endpointPaths('project-shop')?.similarPath('/V1/ORDERS//');
  expect(hint()).toBe('/v1/orders');
  expect(table.endpointPaths('project-shop')?.similarPath('//')).toBe('/');
  table.remove('Endpoint/endpoint-post-v1-orders');
  expect(hint()).toBe('/V1/Orders');
  table.remove('Endpoint/endpoint-post-V1-Orders');
  expect(hint()).toBe('/V1/Orders');
  table.remove('Endpoint/endpoint-get-V1-Orders');
  expect(hint()).toBe('/v1/orders//');
  table.remove('Endpoint/endpoint-post-v1-orders--');
  expect(hint()).toBeUndefined();
});

test('the hint takes the same time after a change to a project with 100,000 endpoints', () => {
  const paths = new PathTable<string>();
  const place = (index: number) => ({ slug: `/v1/Orders/${index}`, method: 'GET', pattern: undefined }) as const;
  for (let index = 0; index < 100_000; index++) paths.put(place(index), 'x');
  const start = process.threadCpuUsage();
  for (let index = 0; index < 1_000; index++) {
    paths.put(place(100_000 + index), 'x');
    expect(paths.similarPath(`/v1/orders/${index}`)).toBe(`/v1/Orders/${index}`);
  }
  expect(process.threadCpuUsage(start).user / 1_000).toBeLessThan(1_000);
});

test('any sequence of puts and removes results in the same table as a new one with the same objects', () => {
  const slugs = ['/a', '/{x}'];
  const object = fc.constantFrom<ConfigObject>(
    account('own', KEY),
    account('own', 'sk_other'),
    project('shop', URI),
    project('shop', 'moved0123456789x'),
    // Each path and method has one endpoint, because the operator sends no second one.
    ...slugs.flatMap((slug) => [endpoint(slug), endpoint(slug, {}, { method: 'GET' })]),
  );
  const step = fc.tuple(fc.boolean(), object);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const table = new RoutingTable();
      const objects = new Map<string, ConfigObject>();
      for (const [isPut, one] of steps) {
        const key = configKey(one);
        if (isPut) {
          table.put(key, compile(one));
          objects.set(key, one);
        } else {
          table.remove(key);
          objects.delete(key);
        }
      }
      const fresh = compileTable([...objects.values()]);
      expect(table.size).toBe(fresh.size);
      for (const uri of [URI, 'moved0123456789x']) {
        for (const path of ['/a', '/b']) {
          for (const method of ['GET', 'POST', 'PUT']) {
            expect(find(table, path, method, uri)).toBe(find(fresh, path, method, uri));
          }
        }
      }
    }),
  );
});
