import { expect, it } from 'vitest';
import { changePreferences, preferencesCookie, readPreferences } from './preferences.ts';

const DEFAULTS = { theme: 'system', time: 'local', keys: 'on', density: 'compact', headers: 'notable' };

it('the cookie preserves the preferences', () => {
  const chosen = changePreferences(readPreferences(null), new URLSearchParams({ theme: 'dark', keys: 'off' }));
  expect(chosen).toEqual({ ...DEFAULTS, theme: 'dark', keys: 'off' });
  const [pair = ''] = preferencesCookie(chosen).split(';');
  expect(readPreferences(`other=1; ${pair}; last=2`)).toEqual(chosen);
});

it.each([
  null,
  '',
  'standin-preferences=',
  'standin-preferences=theme=<script>&keys=%',
  'x-standin-preferences=theme=dark',
])('a missing or invalid cookie results in the defaults: %s', (cookie) => {
  expect(readPreferences(cookie)).toEqual(DEFAULTS);
});
