import { readPreferences, type Preferences } from './preferences.ts';
import { useRouteLoaderData } from './remix.ts';

/** The user's preferences, from the root's loader. */
export const usePreferences = (): Preferences =>
  useRouteLoaderData<{ preferences: Preferences } | undefined>('root')?.preferences ?? readPreferences(null);
