import { expect, it } from 'vitest';
import { toObjectName } from './object-name.ts';

it.each([
  ['Create order', 'create-order'],
  ['  Über-Straße №5 ', 'uber-stra-e-no5'],
  ['GET /v1/orders', 'get-v1-orders'],
  ['注文', 'object-1jvfbao'],
  ['Заказы', 'object-3pe8oy'],
  ['注文 API', 'api-62bnpc'],
  [`${'x'.repeat(80)} 注文`, `${'x'.repeat(56)}-cj5pti`],
  ['🚀', ''],
  ['-', ''],
  ['x'.repeat(200), 'x'.repeat(63)],
  [`${'x'.repeat(62)} y`, 'x'.repeat(62)],
])('%s becomes "%s"', (title, name) => {
  expect(toObjectName(title)).toBe(name);
});
