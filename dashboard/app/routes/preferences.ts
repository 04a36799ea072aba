import { data, type ActionFunctionArgs } from '@remix-run/node';
import { changePreferences, preferencesCookie, readPreferences } from '../shell/preferences.ts';

export const action = async ({ request }: ActionFunctionArgs) => {
  const changes = new URLSearchParams(await request.text());
  const preferences = changePreferences(readPreferences(request.headers.get('cookie')), changes);
  return data(preferences, { headers: { 'set-cookie': preferencesCookie(preferences) } });
};
