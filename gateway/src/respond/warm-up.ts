import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  compileConditions,
  meetsConditions,
  parseMockTemplate,
  renderMock,
  RequestExpressions,
  RequestFacts,
} from '@standin/responses';

/** How often each request is evaluated. Afterwards, V8 has optimized the loops. */
const ROUNDS = 4;

const NUMBERS = Array.from({ length: 3_000 }, (_, index) => index);
const TEXT = 'ab'.repeat(50_000);

/** Requests that spend most of their time in different loops: regular expressions, JSON, macros, searches and templates. */
const REQUESTS = [
  { cel: 'request.json.l.all(x, x < 0 || true)', body: JSON.stringify({ l: NUMBERS }), template: '${request.json}' },
  {
    cel: 'request.json.a.contains(request.json.b) || request.body.contains("\\u0001\\u0002")',
    body: JSON.stringify({ a: TEXT, b: `${TEXT.slice(0, 10_000)}c` }),
    template: '"${request.json.a}"',
  },
  { cel: 'request.body.contains("\\u0001\\u0002")', body: '\u0001'.repeat(100_000), template: '"${request.body}"' },
  {
    cel: 'request.json["0"] == 1',
    body: JSON.stringify(Object.fromEntries(NUMBERS.map((x) => [`${'\u0001'.repeat(30)}${x}`, x]))),
    template: '${request.json}',
  },
] as const;

/**
 * Evaluates built-in conditions and templates, so that V8 optimizes the code before the first request. Otherwise, a request that uses its whole
 * budget could block a new process for more than 50 ms. Takes several turns of the event loop.
 */
export const warmUp = async (): Promise<void> => {
  const mocks = REQUESTS.map(({ cel, body, template }) => {
    const parsed = parseMockTemplate({ headers: [], body: template });
    if (!parsed.ok) throw new Error('a built-in template is not valid');
    const queryParams = [{ name: 'a', type: 'RegularExpression', value: '(.*a){17}' }] as const;
    const conditions = [
      compileConditions({ pathParams: [], headers: [], queryParams }),
      compileConditions({ pathParams: [], headers: [], queryParams: [], cel }),
    ];
    return { conditions, template: parsed.template, body: Buffer.from(body) };
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { conditions, template, body } of mocks) {
      await nextTurn();
      const request = expressionsFor(body);
      for (const list of conditions) meetsConditions(request, list);
      await nextTurn();
      renderMock(template, expressionsFor(body));
    }
  }
};

const expressionsFor = (body: Uint8Array): RequestExpressions => {
  const facts = new RequestFacts({ headers: [], query: `a=${'a'.repeat(100)}b`, parameters: new Map() });
  const id = '00000000-0000-7000-8000-000000000000';
  return new RequestExpressions(facts, {
    id,
    receivedAtUs: 0,
    method: 'POST',
    path: '/',
    body,
    project: '',
    endpoint: '',
    projectUrl: '',
  });
};
