import type { Preferences } from './preferences.ts';
import { Brand } from './brand.tsx';
import { PreferencesMenu } from './preferences-menu.tsx';

/** The header of the login page, without search and navigation. */
export const SignedOutHeader = ({ preferences }: { readonly preferences: Preferences }) => (
  <header className="border-b border-line bg-page">
    <div className="flex h-11 items-center justify-between px-3">
      <Brand />
      <PreferencesMenu preferences={preferences} />
    </div>
  </header>
);
