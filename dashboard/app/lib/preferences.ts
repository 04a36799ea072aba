/** What a person chose about the looks: kept in a cookie, so that the first HTML is right. */
export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly time: 'local' | 'utc';
  /** Shortcuts of a single key (WCAG 2.1.4: they can be turned off). */
  readonly keys: 'on' | 'off';
  /** Of the rows of long lists. */
  readonly density: 'compact' | 'comfortable';
}

const CHOICES = {
  theme: ['system', 'light', 'dark'],
  time: ['local', 'utc'],
  keys: ['on', 'off'],
  density: ['compact', 'comfortable'],
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
});

/** Of a Cookie header. Whatever it says, the result can be used. */
export const readPreferences = (cookies: string | null): Preferences => {
  const pair = (cookies ?? '').split(/;\s*/).find((part) => part.startsWith(`${COOKIE}=`));
  return fromParams(new URLSearchParams(pair?.slice(COOKIE.length + 1)));
};

/** `changes` as a form sends them: the fields that it has, as text. */
export const changePreferences = (before: Preferences, changes: URLSearchParams): Preferences =>
  fromParams(new URLSearchParams([...changes, ...Object.entries(before)]));

/** A Set-Cookie header. */
export const preferencesCookie = (preferences: Preferences): string =>
  `${COOKIE}=${new URLSearchParams({ ...preferences }).toString()}; Path=/; Max-Age=${MAX_AGE_S}; SameSite=Strict; HttpOnly`;
