import { readPreferences, type Preferences } from './preferences.ts';
import { useRouteLoaderData } from './remix.ts';

/** What the person chose; the root's loader knows it. */
export const usePreferences = (): Preferences =>
  useRouteLoaderData<{ preferences: Preferences } | undefined>('root')?.preferences ?? readPreferences(null);
