import { describe, expect, it } from 'vitest';
import { pagePath, returnPath } from './return-path.ts';

const HOME = '/projects';

describe('the path after sign-in', () => {
  it.each([
    '/p/team-a/shop/endpoints?q=a%20b#top',
    '/projects',
    '/p/team-a/caf%C3%A9',
    '/s/look?next=https://example.com',
    '/@user',
  ])('can be %s', (path) => {
    expect(returnPath(path)).toBe(path);
  });

  it.each([
    'https://evil.example/',
    '//evil.example/x',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '\u0000/x',
    ' /x',
    'javascript:alert(1)',
    'projects',
    '',
    '/./%2e/..//evil.example',
    '/a/..//evil.example',
    '/login',
    '/login/oidc?to=/x',
    '/logout',
    `/${'x'.repeat(2_001)}`,
    `/${'語'.repeat(300)}`,
    null,
    undefined,
  ])('cannot be %j', (path) => {
    expect(returnPath(path)).toBe(HOME);
  });
});

it.each([
  ['/p/a/b/endpoints.data?q=x&_routes=routes%2Fa', '/p/a/b/endpoints?q=x'],
  ['/_root.data', '/'],
  ['/p/a/b/settings?index', '/p/a/b/settings'],
  ['//evil.example/x', HOME],
  ['//', HOME],
  ['http://evil.example/x', HOME],
])('the page for %s is %s', (url, page) => {
  expect(pagePath(url)).toBe(page);
});
