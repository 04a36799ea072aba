import { data, type ActionFunctionArgs } from '@remix-run/node';
import type { ClientActionFunctionArgs } from '@remix-run/react';
import { changePreferences, preferencesCookie, readPreferences } from '../shell/preferences.ts';
import { failureText, keepSubmitted } from '../ui/kept-form.ts';
import { toast } from '../ui/toast.tsx';

export const action = async ({ request }: ActionFunctionArgs) => {
  const changes = new URLSearchParams(await request.text());
  const preferences = changePreferences(readPreferences(request.headers.get('cookie')), changes);
  return data(preferences, { headers: { 'set-cookie': preferencesCookie(preferences) } });
};

/** Reports a failure in a toast, because the page, and a form on it, must stay. */
export const clientAction = (args: ClientActionFunctionArgs) =>
  keepSubmitted(args, (unsaved) => toast(failureText(unsaved, 'saved'), 'bad'));
