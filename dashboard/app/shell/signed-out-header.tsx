import type { Preferences } from '../lib/preferences.ts';
import { Brand } from './brand.tsx';
import { PreferencesMenu } from './preferences-menu.tsx';

/** Around the login page: nothing to search, nowhere to go yet. */
export const SignedOutHeader = ({ preferences }: { readonly preferences: Preferences }) => (
  <header className="border-b border-line bg-page">
    <div className="flex h-11 items-center justify-between px-3">
      <Brand />
      <PreferencesMenu preferences={preferences} />
    </div>
  </header>
);
