import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileFilter } from './compile-filter.ts';
import { anyFilter, anyText } from '@standin/exchange/filter-testing';
import type { Condition } from '@standin/exchange/search';
import { parseFilter } from '@standin/exchange/search';

const compile = (text: string) => {
  const result = parseFilter(text);
  if (result.kind === 'invalid') throw new Error(result.problem.message);
  return compileFilter(result.filter);
};

describe('compileFilter', () => {
  test('every parameter in the SQL has a value, and every value has a parameter', () => {
    fc.assert(
      fc.property(anyFilter, (filter) => {
        const { conditions, params } = compileFilter(filter);
        const sql = conditions.map((condition) => condition.sql).join(' ');
        const placeholders = [...sql.matchAll(/\{(\w+):(?:String|UInt64|UUID)\}/g)].map(([, name]) => name);
        expect(new Set(placeholders)).toEqual(new Set(Object.keys(params)));
      }),
    );
  });

  test('the SQL does not depend on the values', () => {
    const shape = fc.constantFrom(
      (text: string): Condition => ({ kind: 'contains', field: 'body', text }),
      (text: string): Condition => ({ kind: 'matches', field: 'endpoint', pattern: [text] }),
      (text: string): Condition => ({ kind: 'matches', field: 'endpoint', pattern: [text, ''] }),
    );
    fc.assert(
      fc.property(shape, anyText, (make, text) => {
        expect(compileFilter(make(text)).conditions).toEqual(compileFilter(make('x')).conditions);
      }),
    );
  });

  test('strings are sent as hexadecimal', () => {
    expect(compile(`body:"' OR 1=1 --"`)).toEqual({
      conditions: [
        {
          sql: '(lower(if(empty(request_text), request_body, request_text)) LIKE unhex({search0:String}))',
          frozen: true,
        },
      ],
      params: { search0: `25${Buffer.from("' or 1=1 --").toString('hex')}25` },
    });
  });

  test('the special characters of LIKE are escaped in strings', () => {
    const { params } = compile(String.raw`path:/a%_\\b*`);
    expect(Buffer.from(String(params['search0']), 'hex').toString()).toBe(String.raw`/a\%\_\\b%`);
  });

  test('text that may be bytes or UTF-8 matches both in columns that are shown byte by byte', () => {
    expect(compile('path:/é').params).toEqual({ search0: '2fc3a9', search1: '2fe9' });
    expect(compile('body:é').params).toEqual({ search0: '25c3a925' });
    expect(compile('path:/€').params).toEqual({ search0: '2fe282ac' });
    expect(compile(String.raw`path:/\xe9`).params).toEqual({ search0: '2fe9' });
  });

  test.each([
    ['method:GET path:/a* header.x:1 body:a query:a req.size:0 id:0* -endpoint:b response:gold', [true]],
    ['status:200', [false]],
    ['-status:200', [false]],
    ['a', [false]],
    ['(method:GET OR dur:>1s)', [false]],
    ['resp.header.x:1', [false]],
  ])('the conditions of %s that a response can change are %j', (text, frozen) => {
    const all = compile(text).conditions.map((condition) => condition.frozen);
    expect([...new Set(all)]).toEqual(frozen);
  });

  test('a search for everything has no conditions', () => {
    expect(compile('')).toEqual({ conditions: [], params: {} });
  });
});
