import { expect, test } from 'vitest';
import { EXAMPLES } from './examples.testing.ts';
import { secretHeaders } from './secret-headers.ts';

test('only the header of a token is a secret', () => {
  const found = Object.entries(EXAMPLES).map(([name, { config }]) => [name, secretHeaders(config)]);
  expect(Object.fromEntries(found.filter(([, headers]) => headers?.length !== 0))).toEqual({
    Token: ['x-gitlab-token'],
  });
});
