import { Settings2 } from 'lucide-react';
import { paths } from '../paths.ts';
import type { Preferences } from './preferences.ts';
import { useFetcher } from '../remix.ts';
import { IconButton } from '../ui/icon-button.tsx';
import { Menu, MenuChoices, MenuSeparator } from '../ui/menu.tsx';

export const THEMES = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];
const ZONES = [
  { value: 'local', label: 'Local time' },
  { value: 'utc', label: 'UTC' },
];
const DENSITIES = [
  { value: 'compact', label: 'Compact' },
  { value: 'comfortable', label: 'Comfortable' },
];
const KEYS = [
  { value: 'on', label: 'On' },
  { value: 'off', label: 'Off' },
];

/**
 * Returns a function that changes a preference, and the changes that the server has not stored yet. It stores them in a cookie. The
 * theme changes before the server responds.
 */
export const usePreferenceChange = () => {
  // Keyed, so that all components know the changes that are not stored.
  const { formData: unsaved, submit } = useFetcher({ key: 'preferences' });
  const change = (name: keyof Preferences) => (value: string) => {
    if (name === 'theme') document.documentElement.dataset['theme'] = value;
    // Contains the earlier changes, because this request replaces theirs.
    const form = new FormData();
    for (const [known, before] of unsaved ?? []) form.set(known, before);
    form.set(name, value);
    submit(form, { method: 'post', action: paths.preferences() });
  };
  return { change, unsaved };
};

/** A menu for the preferences. */
export const PreferencesMenu = ({ preferences }: { readonly preferences: Preferences }) => {
  const { change } = usePreferenceChange();
  return (
    <Menu
      trigger={
        <IconButton label="Preferences">
          <Settings2 aria-hidden />
        </IconButton>
      }
    >
      <MenuChoices label="Theme" value={preferences.theme} choices={THEMES} onChange={change('theme')} />
      <MenuSeparator />
      <MenuChoices label="Time zone" value={preferences.time} choices={ZONES} onChange={change('time')} />
      <MenuSeparator />
      <MenuChoices label="Row height" value={preferences.density} choices={DENSITIES} onChange={change('density')} />
      <MenuSeparator />
      <MenuChoices label="Single-key shortcuts" value={preferences.keys} choices={KEYS} onChange={change('keys')} />
    </Menu>
  );
};
