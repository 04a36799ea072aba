import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ContractFiles } from './contract-files.ts';
import { Contract } from './contract.ts';
import { writeContract } from './contract.testing.ts';

const OK = { responses: { 200: { description: 'x' } } };
const open = (document: object, others: Readonly<Record<string, unknown>> = {}) =>
  new Contract(writeContract({ 'openapi.json': { openapi: '3.1.0', ...document }, ...others }), () => undefined);
/** Returns the operation and the parameters of a request, or why there is none. */
const find = (contract: Contract, request: string): string => {
  const [method = '', target = ''] = request.split(' ');
  const found = contract.find(method, target);
  if (found.kind === 'none') return found.reason;
  return [found.operation.name, ...[...found.parameters].map(([name, value]) => `${name}=${value}`)].join(' ');
};

describe('the operation of a request', () => {
  const document = {
    paths: {
      '/': { get: OK },
      '/orders': { get: OK, post: OK },
      '/orders/{id}': { get: OK, delete: OK },
      '/orders/new': { get: OK, head: OK },
      '/orders/{order-id}/items': { get: OK },
      '/orders/{id}:cancel': { post: OK },
      '/files/{name}.{extension}': { get: OK },
      '/files/v{version}': { get: OK },
      '/files/{file}': { get: OK },
      '/{a}{b}': { put: OK },
      '/café/a b': { get: OK },
      '/café/{id}': { get: OK },
      '/caf%c3%a9/{größe}-ü.png': { get: OK },
    },
  };
  test.each([
    ['GET /', 'GET /'],
    ['GET /orders', 'GET /orders'],
    ['GET /orders/7', 'GET /orders/{id} id=7'],
    ['HEAD /orders/7', 'GET /orders/{id} id=7'],
    ['HEAD /orders/new', 'HEAD /orders/new'],
    ['GET /orders/new', 'GET /orders/new'],
    ['DELETE /orders/new', 'DELETE /orders/{id} id=new'],
    ['POST /orders/7:cancel', 'POST /orders/{id}:cancel id=7'],
    ['GET /orders/a%2Fb/items', 'GET /orders/{order-id}/items order-id=a%2Fb'],
    ['GET /files/a.b.png', 'GET /files/{name}.{extension} name=a extension=b.png'],
    ['GET /files/v2', 'GET /files/v{version} version=2'],
    ['GET /files/x', 'GET /files/{file} file=x'],
    ['PUT /abc', 'PUT /{a}{b} a=a b=bc'],
    ['PUT /orders', 'PUT /{a}{b} a=o b=rders'],
    ['GET /%6frders', 'GET /orders'],
    ['GET /caf%C3%A9/a%20b', 'GET /café/a b'],
    ['GET /caf%c3%a9/7%2f', 'GET /café/{id} id=7%2F'],
    ['GET /caf\u00c3\u00a9/%37', 'GET /café/{id} id=7'],
    ['GET /café/7', 'path: is not in the contract'],
    ['GET /caf%C3%A9/9-%c3%bc.png', 'GET /caf%c3%a9/{größe}-ü.png größe=9'],
    ['GET /orders%2F7', 'method: the contract has only PUT for the path'],
    ['PATCH /orders', 'method: the contract has only GET, POST for the path'],
    ['GET /orders/', 'path: is not in the contract'],
    ['GET /orders/..', 'path: is not in the contract'],
    ['GET /orders/%ff', 'path: is not in the contract'],
    ['GET /no/such/path', 'path: is not in the contract'],
  ])('%s is %s', (request, expected) => {
    expect(find(open(document), request)).toBe(expected);
  });

  test('is found below the base path of a server and without it', () => {
    const servers = [
      { url: 'https://{host}/{version}/', variables: { host: { default: 'a' }, version: { default: 'v1' } } },
    ];
    const below = open({
      servers,
      paths: { '/a': { get: OK }, '/b': { get: OK, servers: [{ url: '/other' }] }, '/v1/a': { post: OK } },
    });
    expect(
      ['GET /v1/a', 'GET /a', 'GET /other/b', 'GET /v1/b', 'POST /v1/v1/a'].map((one) => find(below, one)),
    ).toEqual(['GET /a', 'GET /a', 'GET /b', 'path: is not in the contract', 'POST /v1/a']);
    expect(find(below, 'POST /v1/a')).toBe('method: the contract has only GET for the path');
  });

  test('can be in another file', () => {
    const other = open({ paths: { '/a': { $ref: 'paths/a.yaml' } } }, { 'paths/a.yaml': 'get:\n  responses: {}\n' });
    expect(find(other, 'GET /a')).toBe('GET /a');
  });
});

test.each<[string, unknown, string]>([
  ['nothing', '', 'a.yaml is empty'],
  ['a text', 'text', 'a.yaml is not an OpenAPI document'],
  ['no YAML', 'a: [', 'a.yaml:1: '],
  ['another document', { apiVersion: 'v1' }, 'a.yaml is not an OpenAPI document of version 3.0, 3.1 or 3.2'],
  ['Swagger 2.0', { swagger: '2.0' }, 'a.yaml has the format Swagger 2.0: convert it to OpenAPI 3 first'],
  ['version 4', { openapi: '4.0.0' }, 'a.yaml is not an OpenAPI document of version'],
  ['no path item', { openapi: '3.0.0', paths: { '/a': 1 } }, 'a.yaml: the path /a is not an object'],
  [
    'a ring of references',
    { openapi: '3.0.0', paths: { '/a': { $ref: '#/paths/~1a' } } },
    'more than 100 references lead to each other',
  ],
  ['deep YAML', '['.repeat(2_000), 'is nested more than 100 levels deep'],
  [
    'a bomb of aliases',
    `a: &a [1,1,1,1,1,1,1,1,1]\n${Array.from('bcdefghijk', (name, index) => `${name}: &${name} [${`*${'abcdefghij'[index]},`.repeat(9)}]`).join('\n')}`,
    'its aliases expand to more than',
  ],
])('a contract with %s is refused', (_, content, message) => {
  const file = writeContract({ 'a.yaml': content });
  expect(() => new Contract(file, () => undefined)).toThrow(message);
});

describe('a reference', () => {
  const resolved = (reference: string, files: Readonly<Record<string, unknown>> = {}) => {
    const contract = new ContractFiles(writeContract({ 'openapi.json': { a: [{ 'b/c~d': 1 }] }, ...files }));
    return contract.resolve(reference, contract.root.file).value;
  };
  test.each<[string, unknown]>([
    ['#/a/0/b~1c~0d', 1],
    ['#/a/0/b%2Fc~0d', undefined],
    ['other.yaml#/x', 2],
    ['sub/../other.yaml', { x: 2 }],
  ])('%s leads to a value of the contract', (reference, expected) => {
    const files = { 'other.yaml': 'x: 2', 'sub/a.yaml': '' };
    if (expected === undefined) expect(() => resolved(reference, files)).toThrow('leads to nothing');
    else expect(resolved(reference, files)).toEqual(expected);
  });

  test.each([
    ['#/b', 'openapi.json: the reference "#/b" leads to nothing'],
    ['#/__proto__', 'leads to nothing'],
    ['#/a/length', 'leads to nothing'],
    ['#anchor', 'has no JSON pointer'],
    ['no.json', 'no.json does not exist'],
    ['../outside.json', 'leads out of the folder of the contract'],
    ['%2e%2e/outside.json', 'leads out of the folder of the contract'],
    ['/etc/passwd', 'leads out of the folder of the contract'],
    ['link.json', 'leads out of the folder of the contract'],
    ['folder', 'folder is not a file'],
    ['http://localhost/a.json', 'is a URL, and a contract is read from files only'],
    ['file:///etc/passwd', 'is a URL, and a contract is read from files only'],
    ['//localhost/a.json', 'is a URL, and a contract is read from files only'],
  ])('%s is refused', (reference, message) => {
    const file = writeContract({ 'in/openapi.json': { a: [1] }, 'outside.json': {} });
    const folder = path.dirname(file);
    mkdirSync(path.join(folder, 'folder'));
    symlinkSync('../outside.json', path.join(folder, 'link.json'));
    const contract = new ContractFiles(file);
    expect(() => contract.resolve(reference, contract.root.file)).toThrow(message);
  });
});

test('a contract of more than 32 MiB is refused, and one of 5 MB with thousands of paths is read', () => {
  const file = writeContract({ 'a.json': {} });
  writeFileSync(file, JSON.stringify({ openapi: '3.0.0', 'x-long': 'x'.repeat(33 * 1024 * 1024) }));
  expect(() => new Contract(file, () => undefined)).toThrow('the contract has more than');
  const item = { get: { ...OK, description: 'x'.repeat(800) } };
  const paths = Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`/a${index}/{id}`, item]));
  const contract = open({ paths });
  expect(contract.operations).toHaveLength(6_000);
  expect(find(contract, 'GET /a5999/1')).toBe('GET /a5999/{id} id=1');
});
