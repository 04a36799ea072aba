import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FILTER_LIMITS } from './filter.ts';
import type { Filter, Term } from './filter.ts';
import { anyFilter } from './filter.testing.ts';
import { formatFilter } from './format-filter.ts';
import { parseFilter } from './parse-filter.ts';

const parsed = (text: string): Filter => {
  const result = parseFilter(text);
  if (result.kind === 'parsed') return result.filter;
  throw new Error(`${text}: ${result.problem.message}`);
};
const problem = (text: string): { message: string; marked: string } => {
  const result = parseFilter(text);
  if (result.kind === 'parsed') throw new Error(`${text} was read as ${formatFilter(result.filter)}`);
  const { message, from, to } = result.problem;
  return { message, marked: text.slice(from, to) };
};

const a: Term = { kind: 'text', text: 'a' };
const b: Term = { kind: 'text', text: 'b' };
const c: Term = { kind: 'text', text: 'c' };

describe('structure', () => {
  test.each<[string, Filter]>([
    ['', { kind: 'everything' }],
    [' \t\n', { kind: 'everything' }],
    ['a', a],
    ['a b', { kind: 'and', conditions: [a, b] }],
    ['a AND b', { kind: 'and', conditions: [a, b] }],
    ['a b OR c', { kind: 'or', conditions: [{ kind: 'and', conditions: [a, b] }, c] }],
    ['a (b OR c)', { kind: 'and', conditions: [a, { kind: 'or', conditions: [b, c] }] }],
    ['((a) (b))', { kind: 'and', conditions: [a, b] }],
    ['(a OR b) OR c', { kind: 'or', conditions: [a, b, c] }],
    ['-a', { kind: 'not', condition: a }],
    ['NOT a', { kind: 'not', condition: a }],
    ['--a', { kind: 'not', condition: { kind: 'not', condition: a } }],
    ['-(a b)', { kind: 'not', condition: { kind: 'and', conditions: [a, b] } }],
    ['NOT a b', { kind: 'and', conditions: [{ kind: 'not', condition: a }, b] }],
    ['"OR"', { kind: 'text', text: 'OR' }],
    ['or', { kind: 'text', text: 'or' }],
    ...['constructor', 'toString', '__proto__', 'hasOwnProperty'].map((text): [string, Filter] => [
      text,
      { kind: 'text', text },
    ]),
    ['a-b', { kind: 'text', text: 'a-b' }],
    ['12:30', { kind: 'text', text: '12:30' }],
    ['a*', { kind: 'text', text: 'a*' }],
    ['"http://x"', { kind: 'text', text: 'http://x' }],
  ])('is parsed from %j', (text, filter) => {
    expect(parsed(text)).toEqual(filter);
  });
});

describe('values', () => {
  test.each<[string, Term]>([
    ['method:post', { kind: 'method', method: 'POST' }],
    ['outcome:Mocked', { kind: 'outcome', outcome: 'mocked' }],
    ['action:forward', { kind: 'action', action: 'Forward' }],
    ['credential:signature', { kind: 'credential', credential: 'signature' }],
    ['status:404', { kind: 'compare', field: 'status', comparison: '=', value: 404 }],
    ['status:=404', { kind: 'compare', field: 'status', comparison: '=', value: 404 }],
    ['status:>=500', { kind: 'compare', field: 'status', comparison: '>=', value: 500 }],
    ['status:">=500"', { kind: 'compare', field: 'status', comparison: '>=', value: 500 }],
    ['status:5XX', { kind: 'range', field: 'status', from: 500, to: 599 }],
    ['status:200-204', { kind: 'range', field: 'status', from: 200, to: 204 }],
    ['status:none', { kind: 'compare', field: 'status', comparison: '=', value: 0 }],
    ['dur:>250ms', { kind: 'compare', field: 'dur', comparison: '>', value: 250_000 }],
    ['dur:<1.5s', { kind: 'compare', field: 'dur', comparison: '<', value: 1_500_000 }],
    ['dur:>=20µs', { kind: 'compare', field: 'dur', comparison: '>=', value: 20 }],
    ['dur:20µs-30µs', { kind: 'range', field: 'dur', from: 20, to: 30 }],
    ['dur:>1m', { kind: 'compare', field: 'dur', comparison: '>', value: 60_000_000 }],
    ['dur:100ms-2s', { kind: 'range', field: 'dur', from: 100_000, to: 2_000_000 }],
    ['size:>10kb', { kind: 'compare', field: 'size', comparison: '>', value: 10_000 }],
    ['size:1KiB-1MiB', { kind: 'range', field: 'size', from: 1_024, to: 1_048_576 }],
    ['req.size:0', { kind: 'compare', field: 'req.size', comparison: '=', value: 0 }],
    ['size:>1.5', { kind: 'compare', field: 'size', comparison: '>', value: 1 }],
    ['size:>=1.5', { kind: 'compare', field: 'size', comparison: '>=', value: 2 }],
    ['size:<1.5', { kind: 'compare', field: 'size', comparison: '<', value: 2 }],
    ['size:<=1.5', { kind: 'compare', field: 'size', comparison: '<=', value: 1 }],
    ['size:1.5', { kind: 'compare', field: 'size', comparison: '<', value: 0 }],
    ['size:1.4kb', { kind: 'compare', field: 'size', comparison: '=', value: 1_400 }],
    ['size:0.5-2.5', { kind: 'range', field: 'size', from: 1, to: 2 }],
    ['size:1.2-1.2', { kind: 'compare', field: 'size', comparison: '<', value: 0 }],
    ['size:1.2-1.8', { kind: 'compare', field: 'size', comparison: '<', value: 0 }],
    ['req.size:<0.3kib', { kind: 'compare', field: 'req.size', comparison: '<', value: 308 }],
    ['dur:>0.5us', { kind: 'compare', field: 'dur', comparison: '>', value: 0 }],
    ['dur:<0.0005ms', { kind: 'compare', field: 'dur', comparison: '<', value: 1 }],
    // 1.1 * 1e6 is 1100000.0000000002 in floating-point arithmetic.
    ['dur:>=1.1s', { kind: 'compare', field: 'dur', comparison: '>=', value: 1_100_000 }],
    ['dur:>=4.35ms', { kind: 'compare', field: 'dur', comparison: '>=', value: 4_350 }],
    ['resp.size:<=1.5mb', { kind: 'compare', field: 'resp.size', comparison: '<=', value: 1_500_000 }],
    ['path:/hooks/*', { kind: 'matches', field: 'path', pattern: ['/hooks/', ''] }],
    ['path:*a**b', { kind: 'matches', field: 'path', pattern: ['', 'a', 'b'] }],
    [String.raw`path:/a\*b`, { kind: 'matches', field: 'path', pattern: ['/a*b'] }],
    [String.raw`path:/a\(b\)`, { kind: 'matches', field: 'path', pattern: ['/a(b)'] }],
    ['path:/a:b', { kind: 'matches', field: 'path', pattern: ['/a:b'] }],
    ['endpoint:"create order"', { kind: 'matches', field: 'endpoint', pattern: ['create order'] }],
    ['response:gold', { kind: 'matches', field: 'response', pattern: ['gold'] }],
    ['endpoint:""', { kind: 'matches', field: 'endpoint', pattern: [''] }],
    ['id:0193*', { kind: 'matches', field: 'id', pattern: ['0193', ''] }],
    [
      'id:01931F3E-7c3a-7bbb-8ccc-0123456789AB',
      { kind: 'matches', field: 'id', pattern: ['01931f3e-7c3a-7bbb-8ccc-0123456789ab'] },
    ],
    ['header.X-GitHub-Event:push', { kind: 'header', side: 'request', name: 'x-github-event', pattern: ['push'] }],
    ['resp.header.etag:*', { kind: 'header', side: 'response', name: 'etag', pattern: ['', ''] }],
    ['header.a.b:c', { kind: 'header', side: 'request', name: 'a.b', pattern: ['c'] }],
    ['query:a=*&b', { kind: 'contains', field: 'query', text: 'a=*&b' }],
    [String.raw`body:"\"a\": 1"`, { kind: 'contains', field: 'body', text: '"a": 1' }],
    [String.raw`body:\x00\xe9\x41\n\r\t`, { kind: 'contains', field: 'body', text: '\0\udce9A\n\r\t' }],
    ['resp.body:é', { kind: 'contains', field: 'resp.body', text: 'é' }],
  ])('are parsed from %s', (text, term) => {
    expect(parsed(text)).toEqual(term);
  });
});

describe('a problem', () => {
  test.each([
    ['status:500 staus:500', 'staus', 'Did you mean status?'],
    ['verb:GET', 'verb', 'Did you mean method?'],
    ['req.header.x:1', 'req.header.x', 'Did you mean header.x?'],
    ['Status:1', 'Status', 'Did you mean status?'],
    ['resp.name:gold', 'resp.name', 'Did you mean response?'],
    ['header:x', 'header', 'Did you mean header.NAME?'],
    ['X-Tenant:acme', 'X-Tenant', 'Did you mean header.x-tenant?'],
    ['header.:x', 'header.', 'There is no field "header."'],
    ['http://x/y', 'http', 'To search for the text, write "http://x/y"'],
    ['status:', 'status:', 'as in status:>=500'],
    ['status: 500', 'status:', 'directly after the colon'],
    ['status:4', '4', 'like 404, >=500, 5xx, 200-299 or none'],
    ['status:099', '099', 'A status has a form'],
    ['status:6xx', '6xx', 'A status has a form'],
    ['status:299-200', '299-200', 'The range ends before it begins. Did you mean status:200-299?'],
    ['status:404,500', '404,500', '(status:404 OR status:500)'],
    ['status:!=200', '!=200', 'write -status:200'],
    ['status:*', '*', 'A status has a form'],
    ['dur:250', '250', 'and a unit'],
    ['dur:250ms', '250ms', 'A duration needs a comparison'],
    ['dur:>250min', '>250min', 'and a unit'],
    ['size:>ten', '>ten', 'size:>10kb'],
    ['dur:1.5us', '1.5us', 'A duration needs a comparison'],
    ['dur:=2ms', '=2ms', 'A duration needs a comparison'],
    ['size:2.5-1.5', '2.5-1.5', 'Did you mean size:1.5-2.5?'],
    ['size:1.2-1.1', '1.2-1.1', 'Did you mean size:1.1-1.2?'],
    ['req.size:1kb-0.9KiB', '1kb-0.9KiB', 'Did you mean req.size:0.9KiB-1kb?'],
    ['resp.size:"1-0"', '"1-0"', 'Did you mean resp.size:0-1?'],
    ['-dur:2s-100ms', '2s-100ms', 'Did you mean dur:100ms-2s?'],
    ['dur:0.2us-0.1us', '0.2us-0.1us', 'Did you mean dur:0.1us-0.2us?'],
    ['resp.size:-1', '-1', 'resp.size:>10kb'],
    ['method:PSOT', 'PSOT', 'Did you mean POST?'],
    ['outcome:x', 'x', 'must be mocked, template_failed, forwarded'],
    ['id:0193', '0193', 'write id:0193*'],
    ['body:""', '""', 'To find empty bodies, search for req.size:0'],
    ['""', '""', 'The quotes are empty'],
    ['a "bc', '"bc', 'closing quote'],
    ['body:{"a":1}', 'body:{"', 'quote the whole value'],
    ['"a"b', '"a"b', 'quote the whole value'],
    ['path:/a(b)', 'path:/a(', 'a space before it'],
    [String.raw`body:"\d"`, String.raw`\d`, String.raw`write \\`],
    ['a\\', '\\', 'Unknown escape'],
    ['- a', '-', 'write "-"'],
    ['a -', '-', 'write "-"'],
    ['(a', '(', 'not closed'],
    ['a)', ')', 'no opening parenthesis'],
    [')', ')', 'no opening parenthesis'],
    ['( )', '( )', 'nothing between the parentheses'],
    ['a AND', 'AND', 'missing after AND'],
    ['OR', 'OR', 'write "OR"'],
    ['a OR OR b', 'OR', 'write "OR"'],
    ['(a OR )', 'OR', 'missing after OR'],
    ['NOT', 'NOT', 'missing after NOT'],
    ['a \ud800', '\ud800', 'write bytes as'],
  ])('in %j has a position and explains what to write instead', (text, marked, message) => {
    const found = problem(text);
    expect(found.marked).toBe(marked);
    expect(found.message).toContain(message);
  });

  test.each([
    ['length', 'a'.repeat(FILTER_LIMITS.textLengthMax + 1), 'at most 2000 characters'],
    ['number of conditions', 'a '.repeat(FILTER_LIMITS.termsMax + 1), 'at most 50 conditions'],
    ['depth', '('.repeat(FILTER_LIMITS.depthMax + 1), 'at most 20 levels deep'],
    ['depth of negations', `${'-'.repeat(FILTER_LIMITS.depthMax + 1)}a`, 'at most 20 levels deep'],
    ['number of wildcards', `path:${'*a'.repeat(FILTER_LIMITS.wildcardsMax + 1)}`, 'at most 10 wildcards'],
  ])('states the maximum %s', (_what, text, message) => {
    expect(problem(text).message).toContain(message);
  });

  test('does not exist for a search at the limits', () => {
    expect(parseFilter('a '.repeat(FILTER_LIMITS.termsMax)).kind).toBe('parsed');
    const nested = `${'('.repeat(FILTER_LIMITS.depthMax)}a${')'.repeat(FILTER_LIMITS.depthMax)}`;
    expect(parseFilter(nested).kind).toBe('parsed');
  });
});

describe('for any input', () => {
  test('a printed search is parsed as the same search', () => {
    fc.assert(
      fc.property(anyFilter, (filter) => {
        const text = formatFilter(filter);
        fc.pre(text.length <= FILTER_LIMITS.textLengthMax);
        expect(parsed(text)).toEqual(filter);
        expect(formatFilter(parsed(text))).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });

  test('any text is either parsed or has a problem inside it', () => {
    const alphabet = fc.constantFrom(
      ...Array.from('ab"\\()-:*<>=. \n59'),
      'OR ',
      'AND ',
      'status:',
      'body:',
      'path:',
      'header.x:',
      'é',
      '\udc80',
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(alphabet, { maxLength: 30 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (value) => {
        const result = parseFilter(value);
        if (result.kind === 'parsed') {
          expect(parsed(formatFilter(result.filter))).toEqual(result.filter);
          return;
        }
        const { message, from, to } = result.problem;
        expect(message).toMatch(/\.$/);
        expect(from).toBeGreaterThanOrEqual(0);
        expect(to).toBeLessThanOrEqual(value.length);
        expect(from).toBeLessThan(to);
      }),
      { numRuns: 5_000 },
    );
  });
});

test.each([
  ['dur:>1000ms', 'dur:>1s'],
  ['size:>=1000', 'size:>=1kb'],
  ['size:1024', 'size:1024'],
  ['status:500-599', 'status:5xx'],
  ['body:"plain"', 'body:plain'],
  ['a AND (b OR NOT c)', 'a (b OR -c)'],
  ['method:get', 'method:GET'],
  ['(a b) OR c', 'a b OR c'],
])('%s is printed as %s', (text, printed) => {
  expect(formatFilter(parsed(text))).toBe(printed);
});
