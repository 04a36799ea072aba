import { parseObject } from '@standin/crds';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toFormErrors } from '../ui/form-errors.ts';
import { conditionText } from './condition-values.ts';
import { delayText, toDelayValues, NO_DELAY } from './delay-values.ts';
import { drawText, NO_DRAW } from './draw-values.ts';
import { EMPTY_ENDPOINT, endpointFields, readEndpointValues, toEndpoint, toEndpointValues } from './endpoint-values.ts';
import { editList, readListEdit } from './list-edit.ts';
import { isJsonContent, newResponse, responseFieldPath, type ResponseValues } from './response-values.ts';
import { submitted } from './submitted-form.testing.ts';

const identity = { namespace: 'default', project: 'shop' };

const GOLD = {
  name: 'gold',
  when: {
    pathParams: [{ name: 'id', value: '42' }],
    headers: [
      { name: 'x-plan', type: 'Exact', value: 'gold' },
      { name: 'x-test', type: 'Absent' },
    ],
    queryParams: [
      { name: 'expand', type: 'Present' },
      { name: 'page', type: 'RegularExpression', value: '[0-9]+' },
    ],
  },
  status: 201,
  headers: [{ name: 'content-type', value: 'application/xml' }],
  body: '<a>\n</a>\n',
};
const testSpec = (...responses: object[]) => ({
  projectRef: { name: 'shop' },
  displayName: 'Plan',
  slug: '/plans/{id}',
  method: 'GET',
  action: 'JSON',
  responses,
  json: { body: '{}' },
});

/** Returns the responses after the form has been opened, changed and submitted. */
const saved = (
  before: ReturnType<typeof testSpec>,
  change: (responses: readonly ResponseValues[]) => readonly ResponseValues[] = (same) => same,
): unknown => {
  const opened = toEndpointValues('plan', before);
  const values = readEndpointValues(submitted({ ...opened, responses: change(opened.responses) }));
  return (toEndpoint(values, { ...identity, spec: before }).spec as { responses?: unknown }).responses;
};

describe('the form preserves', () => {
  it.each<[string, object[]]>([
    ['every field', [GOLD]],
    ['the order', [GOLD, { ...GOLD, name: 'b' }, { ...GOLD, name: 'a' }]],
    ['a response to every request', [{ name: 'all', body: '{}' }]],
    ['an empty body', [{ name: 'empty', body: '' }]],
    ['a missing body', [{ name: 'none', status: 204 }]],
    ['a missing body with another status', [{ name: 'none', status: 202 }]],
    ['an empty body of a response without one', [{ name: 'none', status: 204, body: '' }]],
    ['content that is not text', [{ name: 'png', headers: GOLD.headers, bodyBase64: 'iVBORw0KGgo=' }]],
    ['line breaks and spaces', [{ name: 'crlf', body: ' {\r\n}\r\n\n' }]],
    ['an empty value', [{ ...GOLD, when: { headers: [{ name: 'a', value: '' }] } }]],
    [
      'fields that it does not know',
      [
        {
          ...GOLD,
          when: { ...GOLD.when, state: ['paid'] },
          attempts: { key: 'a' },
        },
        { name: 'paid', when: { state: ['paid'] }, body: '{}', fault: { type: 'Reset' } },
      ],
    ],
    [
      'draws',
      [
        { name: 'a', when: { draw: { percent: 5 } }, body: '{}' },
        {
          name: 'b',
          when: { ...GOLD.when, draw: { percent: 0.5, seed: ' pr\n42', key: ' path.id\r\n+ "x"\n' } },
          body: '{}',
        },
        { name: 'c', when: { draw: { percent: 5, seed: 'a', key: 'path.id', shape: 'Round' } }, body: '{}' },
      ],
    ],
    [
      'draws that are not valid',
      [5, {}, [], { percent: '5%' }, { percent: 1e-9 }, { key: 7 }].map((draw) => ({ ...GOLD, when: { draw } })),
    ],
    ['an expression', [{ name: 'cel', when: { cel: 'request.json.total > 10.0' }, body: '{}' }]],
    ['an expression in lines', [{ name: 'cel', when: { cel: '// Large\r\n1 <\n  2\n' }, body: '{}' }]],
    ['a template', [{ ...GOLD, template: 'CEL' }]],
    [
      'delays',
      [
        { ...GOLD, delay: { type: 'Fixed', fixed: '200ms' } },
        { ...GOLD, name: 'b', delay: { type: 'Uniform', uniform: { min: '1ms', max: '2s' } } },
        { ...GOLD, name: 'c', delay: { type: 'LogNormal', logNormal: { median: '120ms', p99: '900ms' } } },
        { ...GOLD, name: 'd', delay: { type: 'Poisson', poisson: { mean: '1s' } } },
      ],
    ],
    ['types that it does not know', [{ ...GOLD, when: { headers: [{ name: 'a', type: 'Glob', value: '*' }] } }]],
  ])('%s', (_, responses) => {
    expect(saved(testSpec(...responses))).toEqual(responses);
    const open = (values: readonly ResponseValues[]) => values.map((value) => ({ ...value, open: 'true' }));
    expect(saved(testSpec(...responses), open)).toEqual(responses);
  });
});

it('a moved response keeps the fields that the form does not edit, and a copy has them, too', () => {
  const delayed = { ...GOLD, name: 'delayed', fault: { type: 'Reset' } };
  const changed = saved(testSpec(GOLD, delayed), (responses) => {
    const create = (copied?: ResponseValues) => newResponse(responses, copied);
    return editList(editList(responses, { kind: 'up', index: 1 }, create), { kind: 'duplicate', index: 0 }, create);
  });
  expect(changed).toEqual([delayed, { ...delayed, name: 'delayed-copy' }, GOLD]);
});

it('only the durations for the type of a delay are saved', () => {
  const delay = {
    ...toDelayValues({ type: 'Uniform', uniform: { min: '1s', max: '2s' } }),
    type: 'Fixed',
    fixed: '3s',
  };
  expect(saved(testSpec(GOLD), ([gold]) => [{ ...(gold as ResponseValues), delay }])).toEqual([
    { ...GOLD, delay: { type: 'Fixed', fixed: '3s' } },
  ]);
  expect(delayText(delay)).toBe('Fixed 3s');
  expect(delayText({ ...delay, type: 'Uniform' })).toBe('Uniform 1s to 2s');
  expect(delayText(NO_DELAY)).toBe('');
});

it('an edited draw is saved, with the fields that the form does not know', () => {
  const before = testSpec({ name: 'a', when: { draw: { percent: 5, seed: 'a', shape: 'Round' } }, body: '{}' });
  const draws = (draw: Partial<ResponseValues['draw']>) =>
    saved(before, ([a]) => [{ ...(a as ResponseValues), draw: { percent: '5', key: '', seed: 'a', ...draw } }]);
  const withDraw = (draw: object) => [{ name: 'a', when: { draw }, body: '{}' }];
  expect(draws({ percent: '0.5', key: 'path.id' })).toEqual(
    withDraw({ percent: 0.5, seed: 'a', key: 'path.id', shape: 'Round' }),
  );
  expect(draws({ percent: '5 %', seed: '' })).toEqual(withDraw({ percent: '5 %', shape: 'Round' }));
  expect(draws({ percent: '', seed: '' })).toEqual([{ name: 'a', body: '{}' }]);
});

it('text replaces content that is not text', () => {
  const before = testSpec({ name: 'png', bodyBase64: 'iVBORw0KGgo=' });
  expect(saved(before, ([png]) => [{ ...(png as ResponseValues), body: 'none' }])).toEqual([
    { name: 'png', body: 'none' },
  ]);
});

it('`from` refers only to saved responses', () => {
  for (const from of ['7', '-1', 'constructor', '__proto__', '0.5', ' '])
    expect(saved(testSpec(GOLD), () => [{ ...newResponse([]), from }])).toEqual([{ name: 'response-1', body: '{}' }]);
});

it('an object that is not valid can be opened', () => {
  for (const responses of [
    null,
    'x',
    {},
    [null, 1],
    [{ name: 7, when: [], headers: {}, body: [] }],
    [{ when: { headers: 1 } }],
  ])
    expect(() => toEndpointValues('plan', { ...testSpec(), responses })).not.toThrow();
});

it('errors are assigned to the rows of conditions, headers and bodies', () => {
  const values = readEndpointValues(
    submitted({
      ...toEndpointValues(
        'plan',
        testSpec(
          {
            name: 'a',
            when: { queryParams: [{ name: 'a', value: '' }] },
            status: 700,
            bodyBase64: 'x'.repeat(300_000),
          },
          {
            name: 'Gold Plan',
            when: {
              pathParams: [{ name: 'a-b', value: '' }],
              headers: [
                { name: 'x', value: '' },
                { name: 'x-api-key', value: 'é€' },
              ],
            },
            headers: [{ name: 'te', value: '' }],
            body: 'x',
          },
        ),
      ),
    }),
  );
  const before = testSpec({}, {});
  const object = toEndpoint(values, {
    ...identity,
    spec: { ...before, responses: [{ bodyBase64: 'x'.repeat(300_000) }] },
  });
  const parsed = parseObject(object);
  const problems = (parsed.ok ? [] : parsed.problems).map(({ path, message }) => ({
    path: responseFieldPath(values.responses, path),
    message,
  }));
  const { fields, form } = toFormErrors(problems, endpointFields(values));
  expect(form).toEqual([]);
  expect(Object.keys(fields).toSorted()).toEqual([
    'spec.responses[0].body',
    'spec.responses[0].status',
    'spec.responses[1].conditions[0].name',
    'spec.responses[1].conditions[2].name',
    'spec.responses[1].conditions[2].value',
    'spec.responses[1].headers[0].name',
    'spec.responses[1].name',
  ]);
});

it('problems with a list belong to the list, and problems with a field that the form does not know to the response', () => {
  const values = { ...EMPTY_ENDPOINT, responses: [newResponse([])] };
  const erroneousFields = (path: string): string[] =>
    Object.keys(
      toFormErrors([{ path: responseFieldPath(values.responses, path), message: 'x' }], endpointFields(values)).fields,
    );
  expect(erroneousFields('spec.responses')).toEqual(['spec.responses']);
  expect(erroneousFields('spec.responses[0]')).toEqual(['spec.responses[0]']);
  expect(erroneousFields('spec.responses[0].when.headers')).toEqual(['spec.responses[0].when']);
  expect(erroneousFields('spec.responses[0].when.headers[3].name')).toEqual(['spec.responses[0].when']);
  expect(erroneousFields('spec.responses[0].when.cel')).toEqual(['spec.responses[0].cel']);
  expect(erroneousFields('spec.responses[0].when.draw.percent')).toEqual(['spec.responses[0].draw.percent']);
  expect(erroneousFields('spec.responses[0].when.draw')).toEqual(['spec.responses[0].draw']);
  expect(erroneousFields('spec.responses[0].fault.type')).toEqual(['spec.responses[0]']);
  expect(erroneousFields('spec.responses[0].delay.uniform.min')).toEqual(['spec.responses[0].delay.uniform.min']);
  expect(erroneousFields('spec.responses[0].delay.uniform')).toEqual(['spec.responses[0].delay']);
});

it('new responses and copies have names that are free and not too long', () => {
  let responses: readonly ResponseValues[] = [];
  for (let count = 0; count < 20; count += 1) responses = [...responses, newResponse(responses)];
  const long = { ...newResponse(responses), name: 'x'.repeat(63) };
  for (let count = 0; count < 20; count += 1) responses = [...responses, newResponse(responses, long)];
  const names = responses.map(({ name }) => name);
  expect(new Set(names).size).toBe(40);
  expect(names[0]).toBe('response-1');
  expect(names.every((name) => name.length <= 63)).toBe(true);
});

describe('a list', () => {
  const create = (copied = 'new') => (copied === 'new' ? copied : `${copied}'`);
  it.each([
    ['add', 'abc new'],
    ['up 0', 'abc'],
    ['up 2', 'acb'],
    ['down 0', 'bac'],
    ['down 2', 'abc'],
    ['remove 1', 'ac'],
    ['duplicate 0', "aa'bc"],
    ['remove 9', 'abc'],
  ])('is changed by %s', (button, expected) => {
    const edit = readListEdit(button);
    expect(edit && editList(['a', 'b', 'c'], edit, create).join('').replace('new', ' new')).toBe(expected);
  });

  it.each([
    null,
    undefined,
    '',
    'up',
    'add1',
    'remove -1',
    'remove x',
    'up 1 2',
    'constructor 1',
    new File([], 'up 1'),
  ])('is not changed by %s', (button) => {
    expect(readListEdit(button)).toBeUndefined();
  });
});

it('a form with hostile field names is read in bounded time and size', () => {
  const form = new FormData();
  form.set(`spec.responses${'[9].'.repeat(50_000)}name`, 'x');
  form.set('spec.responses[1].packed', '['.repeat(100_000));
  form.set(
    'spec.responses[2].packed',
    JSON.stringify(Object.fromEntries(Array.from({ length: 9_999 }, (_, n) => [`headers[${n}].name`, 'x']))),
  );
  form.set('spec.responses[3].packed', '{"name": {}, "headers[0].name": 1, "__proto__": "x", "status": "7"}');
  form.set('spec.responses[4].packed', `{~name~: ~deep~, ~from~: ${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
  form.set('spec.responses[9999].name', 'x');
  form.set('spec.responses[0].conditions[9999].name', 'x');
  form.set('spec.responses[0].conditions[0].where', '__proto__');
  form.set('spec.responses[0].conditions[0].name', 'x');
  const { responses } = readEndpointValues(form);
  expect(responses).toHaveLength(33);
  expect(responses[1]?.name).toBe('');
  expect(responses[2]?.headers).toHaveLength(17);
  expect(responses[3]).toMatchObject({ name: '', status: '7', headers: [{ name: '1', value: '' }] });
  expect(responses[0]?.conditions).toEqual([{ where: 'headers', name: 'x', type: '', value: '' }]);
});

it('the body is JSON unless a content type says otherwise', () => {
  const typed = (value: string) => isJsonContent([{ name: 'Content-Type', value }]);
  expect([isJsonContent([]), typed('application/json'), typed('application/problem+json; a=b')]).toEqual([
    true,
    true,
    true,
  ]);
  expect([typed('text/xml'), typed(''), typed('text/plain; a=application/json')]).toEqual([false, false, false]);
});

it('conditions are described', () => {
  const [response] = toEndpointValues('plan', testSpec(GOLD)).responses;
  expect([NO_DRAW, { ...NO_DRAW, percent: '5', key: 'path.id' }].map(drawText)).toEqual(['', '5% by path.id']);
  expect(response?.conditions.map(conditionText)).toEqual([
    '{id} = 42',
    'header x-plan = gold',
    'header x-test is absent',
    'query expand is present',
    'query page matches [0-9]+',
  ]);
});

it('any responses are preserved', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 8 });
  const condition = fc.record({ name: text.filter((name) => name !== ''), value: text });
  const response = fc.record(
    {
      name: fc.stringMatching(/^[a-z]{1,5}$/),
      when: fc.record({ headers: fc.array(condition, { minLength: 1, maxLength: 3 }) }),
      status: fc.integer({ min: 205, max: 599 }).filter((status) => ![205, 304].includes(status)),
      body: text.map((body) => body.replaceAll('\r', '')),
      fault: fc.jsonValue(),
    },
    { requiredKeys: ['name', 'body'] },
  );
  fc.assert(
    fc.property(fc.array(response, { minLength: 1, maxLength: 5 }), (responses) => {
      expect(saved(testSpec(...responses))).toEqual(responses);
    }),
  );
});
