import type { LogRow, ResourceObject } from '@standin/contract';
import { GROUP_VERSION, LIMITS } from '@standin/contract';
import { parseObject } from '@standin/crds';
import { newLogRow } from '@standin/exchange/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toMockDraft, type MockChoice } from './draft-of-row.ts';

const endpoint = (spec: object): ResourceObject => ({
  apiVersion: GROUP_VERSION,
  kind: 'Endpoint',
  metadata: {
    name: 'orders',
    namespace: 'default',
    uid: 'u',
    resourceVersion: '1',
    generation: 3,
    creationTimestamp: '2026-11-20T00:00:00Z',
  },
  spec: {
    projectRef: { name: 'shop' },
    displayName: 'Orders',
    slug: '/orders/{id}',
    method: 'GET',
    action: 'Forward',
    forward: { url: 'http://upstream.example/' },
    ...spec,
  },
});
const ROW: Partial<LogRow> = {
  path: '/orders/a%20b',
  query: 'page=2&token=t0p',
  outcome: 'forwarded',
  status: 201,
  requestHeaders: [
    ['Host', 'example.com'],
    ['X-Plan', 'gold'],
    ['Authorization', 'Bearer secret'],
    ['x-api-key', 'standin_key'],
    ['Connection', 'keep-alive'],
  ],
  responseHeaders: [['content-type', 'application/json']],
  responseBody: Buffer.from('{"id": 1.0}'),
};
const NO_CHOICE: MockChoice = { place: undefined, name: undefined, conditions: undefined, position: 0 };
const GOLD = { name: 'gold', when: { headers: [{ name: 'x-plan', value: 'gold' }] }, body: '{}' };

const drafted = (spec: object, choice: Partial<MockChoice> = {}, row: Partial<LogRow> = {}) =>
  toMockDraft({
    row: newLogRow({ ...ROW, responseBodyBytes: (row.responseBody ?? ROW.responseBody)?.length ?? 0, ...row }),
    endpoint: endpoint(spec),
    mode: 'local',
    choice: { ...NO_CHOICE, ...choice },
  });
const draftedSpec = (...args: Parameters<typeof drafted>): unknown => {
  const draft = drafted(...args);
  if ('reason' in draft) throw new Error(draft.reason);
  return draft.object.spec;
};
const reason = (...args: Parameters<typeof drafted>): string => {
  const draft = drafted(...args);
  return 'reason' in draft ? draft.reason : 'it can be saved';
};
const ADDED = {
  name: 'id-a-b',
  when: { pathParams: [{ name: 'id', value: 'a b' }] },
  status: 201,
  headers: [{ name: 'content-type', value: 'application/json' }],
  body: '{"id": 1.0}',
};

describe('a captured response', () => {
  it('is added for the path parameters of its request, before other responses', () => {
    expect(draftedSpec({ responses: [GOLD] })).toMatchObject({ action: 'Forward', responses: [ADDED, GOLD] });
    expect(draftedSpec({ responses: [GOLD] }, { position: 1 })).toMatchObject({ responses: [GOLD, ADDED] });
    expect(draftedSpec({ responses: [GOLD] }, { position: 99 })).toMatchObject({ responses: [GOLD, ADDED] });
    expect(draftedSpec({})).toMatchObject({ responses: [ADDED] });
  });

  it('replaces the mock if the endpoint has neither responses nor parameters, unless the user chooses', () => {
    const mock = { action: 'JSON', json: { status: 201, body: '{"id": 1.0}' } };
    expect(draftedSpec({ slug: '/orders/a%20b' })).toMatchObject(mock);
    expect(draftedSpec({ responses: [GOLD] }, { place: 'json' })).toMatchObject({ ...mock, responses: [GOLD] });
    expect(drafted({ slug: '/orders', responses: [GOLD] }).options.place).toBe('response');
  });

  it('offers conditions on headers and query parameters, but not on those that differ for each request', () => {
    expect(drafted({}).options.conditions).toEqual([
      { list: 'pathParams', name: 'id', value: 'a b', isChosen: true },
      { list: 'headers', name: 'x-plan', value: 'gold', isChosen: false },
      // The manifest must not contain secrets.
      { list: 'headers', name: 'authorization', value: undefined, isChosen: false },
      { list: 'queryParams', name: 'page', value: '2', isChosen: false },
      { list: 'queryParams', name: 'token', value: undefined, isChosen: false },
    ]);
    expect(draftedSpec({}, { conditions: [1, 2, 3] })).toMatchObject({
      responses: [
        {
          when: {
            headers: [
              { name: 'x-plan', value: 'gold' },
              { name: 'authorization', type: 'Present' },
            ],
            queryParams: [{ name: 'page', value: '2' }],
          },
        },
      ],
    });
  });

  it('has conditions on path parameters only if the slug still matches the path', () => {
    for (const slug of ['/carts/{id}', '/orders/{id}/lines', '/orders/{id', '/orders/a%20b'])
      expect(drafted({ slug }).options.conditions.map(({ list }) => list)).not.toContain('pathParams');
  });

  it('needs a condition', () => {
    expect(reason({}, { conditions: [] })).toContain('Select at least one condition');
    expect(reason({}, { conditions: [99, NaN, -1, 0.5] })).toContain('Select at least one condition');
  });

  it('has a name that is free', () => {
    const taken = (...names: string[]) => ({ responses: names.map((name) => ({ ...GOLD, name })) });
    expect(drafted(taken('id-a-b', 'id-a-b-2')).options.name).toBe('id-a-b-3');
    expect(drafted({ slug: '/orders', ...taken('status-201') }).options.name).toBe('status-201-2');
    expect(drafted({}, {}, { path: `/orders/${'%F0%9F%92%A9'.repeat(50)}` }).options.name).toBe('id');
    expect(drafted({}, {}, { path: `/orders/${'x'.repeat(900)}` }).options.name.length).toBeLessThanOrEqual(63);
  });

  it('is not saved twice, and reports bodies that are too large together', () => {
    expect(reason({ responses: [ADDED] })).toBe('The response id-a-b already has these conditions and this content.');
    const half = Buffer.from(JSON.stringify('x'.repeat(LIMITS.responseBodiesBytesMax / 2)));
    const large = { ...GOLD, body: half.toString() };
    expect(reason({ responses: [large] }, {}, { responseBody: half })).toContain(
      'must not exceed 200,000 bytes in total',
    );
    expect(reason({ json: { body: large.body } }, {}, { responseBody: half })).toContain('200,000 bytes in total');
    const binary = { ...GOLD, bodyBase64: Buffer.alloc(150_000).toString('base64') };
    const rest = (bytes: number) => ({ responseBody: Buffer.from(JSON.stringify('x'.repeat(bytes - 2))) });
    expect(reason({ responses: [{ ...binary, body: undefined }] }, {}, rest(50_000))).toBe('it can be saved');
    expect(reason({ responses: [{ ...binary, body: undefined }] }, {}, rest(50_001))).toContain('would have 200,001');
  });

  it('names what in it is probably a credential, but nothing of the request', () => {
    const draft = drafted(
      {},
      {},
      {
        responseHeaders: [...(ROW.responseHeaders ?? []), ['Set-Cookie', 'sid=1'], ['x-plan', 'gold']],
        responseBody: Buffer.from('{"id":1,"user":{"accessToken":"abcdef123"}}'),
      },
    );
    expect(draft).toMatchObject({ credentials: ['set-cookie', '$.user.accessToken'] });
    expect(drafted({})).toMatchObject({ credentials: [] });
  });

  it('can be binary', () => {
    const responseBody = Buffer.from([0x89, 0x50, 0xff]);
    const responseHeaders = [['content-type', 'image/png']] as const;
    const spec = draftedSpec({}, {}, { responseBody, responseHeaders });
    expect(spec).toMatchObject({ responses: [{ name: 'id-a-b', bodyBase64: responseBody.toString('base64') }] });
  });

  it('of an endpoint that is not valid causes no exception', () => {
    for (const spec of [{ responses: 'x' }, { responses: [null, 1, {}] }, { slug: 7 }, { json: null }])
      expect(() => drafted(spec as object, { place: 'response' })).not.toThrow();
  });

  it('is valid for any request', () => {
    const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/);
    const value = fc.stringMatching(/^([!-~\x80-\xff]([ -~\x80-\xff]*[!-~\x80-\xff])?)?$/);
    const requestHeaders = fc.array(fc.tuple(token, value), { maxLength: 60 });
    const latin1 = fc.stringMatching(/^[!-~\x80-\xff]{0,40}$/);
    fc.assert(
      fc.property(requestHeaders, latin1, latin1, (headers, segment, query) => {
        const row = { requestHeaders: headers, path: `/orders/${segment}`, query };
        const draft = drafted({}, { place: 'response', conditions: [...Array(12).keys()] }, row);
        if ('reason' in draft) return;
        const parsed = parseObject(draft.object);
        expect(parsed.ok ? [] : parsed.problems).toEqual([]);
      }),
    );
  });
});
