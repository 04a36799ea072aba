import type { EndpointConfig, HeaderPair, Method, ResponseConfig, ValueCondition } from '@standin/contract';
import { CandidateTable, compileRules } from '@standin/responses';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { match } from '../match/match.ts';
import { BASIC_OBJECTS, compileTable, endpoint, KEY, sha256, URI } from '../gateway.testing.ts';
import { Refusal } from '../request/refusal.ts';
import type { RequestHead } from '../request/request-head.ts';
import { responderName } from '../request/route.ts';
import { chooseResponder } from './respond.ts';

const word = fc.constantFrom('a', 'b', 'x-api-key');
const condition: fc.Arbitrary<ValueCondition> = fc.oneof(
  fc.record({ name: word, type: fc.constant('Exact' as const), value: fc.constantFrom('1', '2', '') }),
  fc.record({ name: word, type: fc.constant('RegularExpression' as const), value: fc.constantFrom('[12]', '.*') }),
  fc.record({ name: word, type: fc.constantFrom('Present' as const, 'Absent' as const) }),
);
const conditions = fc.array(condition, { maxLength: 1 });
const cel = fc.constantFrom(
  'request.json.total > 10',
  'request.path == "/a"',
  'request.json.nothing == 1',
  'random(0, 1) == 1',
);
const draw = fc.record(
  {
    percent: fc.constantFrom(0, 25, 50, 75, 100),
    seed: fc.constantFrom('a', 'b', 'c', 'd'),
    key: fc.constantFrom('request.path', 'request.query.a', 'request.json', "request.body + 'x'"),
  },
  { requiredKeys: ['percent', 'seed'] },
);
const anyConditions = { pathParams: conditions, headers: conditions, queryParams: conditions };
const verbatim = { status: 200, headers: [], body: '{"a": "${uuid()}"}', bodyEncoding: 'utf8' as const };
const template = (body: string, status = 200) => ({ ...verbatim, status, body, template: 'CEL' as const });
const mock: fc.Arbitrary<ResponseConfig['mock']> = fc.constantFrom(
  verbatim,
  template('["${uuid()}", "${fake(\'person.fullName\')}", ${random(1, 1000000)}]', 201),
  template('{"a": "${request.query.a}"}'),
  template('"${now} ${requestId} ${endpoint} ${project}"', 204),
);
const responses: fc.Arbitrary<ResponseConfig[]> = fc
  .array(
    fc.record(
      { ...anyConditions, mock, draw, cel },
      { requiredKeys: ['pathParams', 'headers', 'queryParams', 'mock'] },
    ),
    { maxLength: 4 },
  )
  .map((items) => items.map((item, index) => ({ ...item, name: `r${index}` })));

const method = fc.constantFrom<Method>('GET', 'POST');
const slug = fc.constantFrom('/a', '/1/2', '/{a}', '/{b...}', '/{a}/2', '/1/{b}', '/{a}/{b}', '/A/');
const endpoints = fc.uniqueArray(fc.tuple(method, slug, responses, mock), {
  selector: ([m, s]) => `${m} ${s}`,
  maxLength: 8,
});
const pair = fc.tuple(fc.constantFrom('a', 'B', 'x-api-key'), fc.constantFrom('1', '2', ''));
const request = fc.record({
  method,
  path: fc.constantFrom('/a', '/1', '/1/2', '/2/1', '/1/2/3', '/A', '/%00', '/', '', '/1/'),
  query: fc.constantFrom('', 'a=1', 'a=2&a=1', 'b', 'a=%31&b=2'),
  headers: fc.array(pair, { maxLength: 3 }),
});

interface Asked {
  readonly method: Method;
  readonly path: string;
  readonly query: string;
  readonly headers: HeaderPair[];
}

const RECEIVED = { id: 'request', receivedAtUs: 0, body: Buffer.from('{"total": 11}') };

/** Returns the endpoint and the response that a gateway chooses, and its content, or the code of its refusal. */
const chosen = (configs: readonly EndpointConfig[], asked: Asked): unknown => {
  const table = compileTable([...BASIC_OBJECTS.filter(({ kind }) => kind !== 'Endpoint'), ...configs]);
  const head = { ...asked, projectUri: URI } as unknown as RequestHead;
  const route = match(
    head,
    { kind: 'key' as const, holders: table.accountsWithKey(sha256(KEY)), fingerprint: '', keySha256: '' },
    table,
  );
  if (route instanceof Refusal) return route.code;
  const { receivedAtUs, ...received } = RECEIVED;
  const responder = chooseResponder({ ...received, exchange: { receivedAtUs }, head, route });
  if (responder.kind !== 'JSON') throw new Error('there are no upstreams');
  const { status, bytes, templateError } = responder.mock;
  const content = templateError === '' ? `${status} ${bytes.toString()}` : templateError;
  return [route.endpoint.config.name, responderName(responder) || undefined, content];
};

const explained = (configs: readonly EndpointConfig[], asked: Asked): unknown => {
  const candidates = configs.map((config) => ({
    endpoint: { ...config, action: 'JSON' as const },
    rules: () => compileRules(config.responses ?? [], config.action.kind === 'JSON' ? config.action : undefined),
  }));
  const projectUrl = 'https://mocks.example.com/k3v9x2m7q4hd8w1n';
  const request = { ...asked, ...RECEIVED, project: 'shop', projectUrl };
  const { rejection, endpoint: found, response, content } = new CandidateTable(candidates).explain(request);
  if (rejection !== undefined) return rejection;
  return [
    found?.name,
    response,
    content?.kind === 'Mock' ? `${content.status} ${content.body}` : (content?.reason ?? 'no content'),
  ];
};

test('an explanation names the endpoint and the response that a gateway chooses, and has the same content', () => {
  const seen = { rejected: 0, response: 0, action: 0 };
  fc.assert(
    fc.property(endpoints, request, (items, asked) => {
      const configs = items.map(([one, path, list, { status, body, template: language }]) =>
        endpoint(
          path,
          { status, body, ...(language !== undefined && { template: language }) },
          { method: one, responses: list },
        ),
      );
      const expected = chosen(configs, asked);
      seen[
        typeof expected === 'string' ? 'rejected' : (expected as unknown[])[1] === undefined ? 'action' : 'response'
      ] += 1;
      expect(explained(configs, asked)).toEqual(expected);
    }),
    { numRuns: 1_000 },
  );
  // Each kind of result is part of the comparison.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(20);
});
