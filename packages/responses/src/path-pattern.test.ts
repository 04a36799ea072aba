import { LIMITS } from '@standin/contract';
import { describe, expect, test } from 'vitest';
import { parsePathPattern, patternArrangement, patternShape } from './path-pattern.ts';
import { validPattern } from './path-pattern.testing.ts';

const segments = (count: number, of: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `/${of(index)}`).join('');

describe('a slug', () => {
  test.each([
    ['/{id}', 'P', '/{}'],
    ['/v1/orders/{id}/items/{item_id}', 'LLPLP', '/v1/orders/{}/items/{}'],
    ['/files/{path...}', 'LR', '/files/{...}'],
    ['/{x}/', 'PL', '/{}/'],
    ['/%7B/{x}', 'LP', '/%7B/{}'],
    ['/{__proto__}', 'P', '/{}'],
    ['/orders/{id}:cancel', 'LM', '/orders/{}:cancel'],
    ['/{a}.json/{b}/{rest...}', 'MPR', '/{}.json/{}/{...}'],
    ["/{a}:%3A-_~!$&'()*+,;=@", 'M', "/{}:%3A-_~!$&'()*+,;=@"],
    [segments(LIMITS.patternParametersMax, (index) => `{p${index}}`), 'PPPPPPPP', '/{}'.repeat(8)],
    [`/{x}${'/a'.repeat(LIMITS.patternSegmentsMax - 1)}`, `P${'L'.repeat(31)}`, `/{}${'/a'.repeat(31)}`],
  ])('%s is a pattern with the arrangement %s', (slug, letters, shape) => {
    const pattern = validPattern(slug);
    expect([patternArrangement(pattern), patternShape(pattern)]).toEqual([letters, shape]);
  });

  test.each([
    ['/a/{}', 'has the segment {}, but a parameter is a whole segment with a name in braces'],
    ['/a/{x', 'has the segment {x, but'],
    ['/a/x}', 'has the segment x}, but'],
    ['/a/x{y}', 'has the segment x{y}, but'],
    ['/a/{x}y', 'has the segment {x}y, but'],
    ['/a/{x}.', 'has the segment {x}., but'],
    ['/a/{x}-y.z', 'has the segment {x}-y.z, but'],
    ['/a/{x}.tar.gz', 'or has a suffix that begins with its only : or ., such as {id}:cancel'],
    ['/a/{x}:y:z', 'has the segment {x}:y:z, but'],
    ['/a/{x...}.json', 'has the segment {x...}.json, but'],
    ['/a/{x}:a/{x}', 'has two parameters named x'],
    ['/a/{in}:a', 'has a parameter named in, which is a reserved word in CEL'],
    ['/a/{x}{y}', 'has the segment {x}{y}, but'],
    ['/a/{order-id}', 'has the segment {order-id}, but'],
    ['/a/{1}', 'has the segment {1}, but'],
    ['/a/{x..}', 'has the segment {x..}, but'],
    ['/{x...}/b', 'must have {x...} as its last segment'],
    ['/a/{x}/{x}', 'has two parameters named x'],
    ['/a/{x}/{x...}', 'has two parameters named x'],
    ['/a/{in}', 'has a parameter named in, which is a reserved word in CEL'],
    [`/{${'a'.repeat(65)}}`, 'has a parameter name with more than 64 characters'],
    [segments(9, (index) => `{p${index}}`), 'must have no more than 8 parameters'],
    [`/{x}${'/a'.repeat(32)}`, 'must have no more than 32 segments if it has parameters'],
  ])('%s is refused', (slug, message) => {
    const parsed = parsePathPattern(slug);
    expect(parsed.ok ? '' : parsed.message).toContain(message);
  });
});
