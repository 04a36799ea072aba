import { useRouteLoaderData } from '../remix.ts';

/** The user's preferences. They are stored in a cookie, so that the server's HTML already applies them. */
export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly time: 'local' | 'utc';
  /** Single-key shortcuts. WCAG 2.1.4 requires that they can be turned off. */
  readonly keys: 'on' | 'off';
  /** The row height in long lists. */
  readonly density: 'compact' | 'comfortable';
  /** The headers that a request and its response show at first. */
  readonly headers: 'notable' | 'all';
}

const CHOICES = {
  theme: ['system', 'light', 'dark'],
  time: ['local', 'utc'],
  keys: ['on', 'off'],
  density: ['compact', 'comfortable'],
  headers: ['notable', 'all'],
} as const;
const COOKIE = 'standin-preferences';
const MAX_AGE_S = 365 * 24 * 3600;

const choice = <T extends string>(choices: readonly [T, ...T[]], value: string | null): T =>
  choices.find((known) => known === value) ?? choices[0];

const fromParams = (params: URLSearchParams): Preferences => ({
  theme: choice(CHOICES.theme, params.get('theme')),
  time: choice(CHOICES.time, params.get('time')),
  keys: choice(CHOICES.keys, params.get('keys')),
  density: choice(CHOICES.density, params.get('density')),
  headers: choice(CHOICES.headers, params.get('headers')),
});

/** Reads a Cookie header. The result is always valid. */
export const readPreferences = (cookies: string | null): Preferences => {
  const pair = (cookies ?? '').split(/;\s*/).find((part) => part.startsWith(`${COOKIE}=`));
  return fromParams(new URLSearchParams(pair?.slice(COOKIE.length + 1)));
};

/** Applies the fields of a submitted form. An invalid value selects the default. */
export const changePreferences = (before: Preferences, changes: URLSearchParams): Preferences =>
  fromParams(new URLSearchParams([...changes, ...Object.entries(before)]));

/** Returns the value of a Set-Cookie header. */
export const preferencesCookie = (preferences: Preferences): string =>
  `${COOKIE}=${new URLSearchParams({ ...preferences }).toString()}; Path=/; Max-Age=${MAX_AGE_S}; SameSite=Strict; HttpOnly`;

/** Returns the user's preferences from the root loader, or the defaults if the loader failed. */
export const usePreferences = (): Preferences =>
  useRouteLoaderData<{ preferences: Preferences } | undefined>('root')?.preferences ?? readPreferences(null);
