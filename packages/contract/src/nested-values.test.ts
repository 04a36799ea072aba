import { expect, test } from 'vitest';
import { nestedValues } from './nested-values.ts';

test('values are nested by path, in order', () => {
  const nested = nestedValues([
    ['name', 'a'],
    ['log.level', 'info'],
    ['port', 1],
    ['log.format.time', 'iso'],
    ['log.format.color', false],
  ]);
  expect(JSON.stringify(nested)).toBe(
    '{"name":"a","log":{"level":"info","format":{"time":"iso","color":false}},"port":1}',
  );
});

test('a path can have the name of an inherited member', () => {
  const nested = nestedValues([['constructor.__proto__', 1]]);
  expect(JSON.stringify(nested)).toBe('{"constructor":{"__proto__":1}}');
});
