import { ArrowRightLeft, CircleHelp, CircleUser, LogOut, SquareTerminal } from 'lucide-react';
import { lazy, Suspense, useEffect } from 'react';
import { paths } from '../paths.ts';
import type { Preferences } from './preferences.ts';
import { Link, useNavigate, useSubmit } from '../remix.ts';
import { commandKeys, useShortcutKeys, useShortcuts } from './shortcuts.ts';
import { Button } from '../ui/button.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/menu.tsx';
import { useLoadedDialog } from '../ui/use-loaded-dialog.ts';
import { PreferencesMenu } from './preferences-menu.tsx';
import { ProjectSwitcher, type ProjectSwitcherProps } from './project-switcher.tsx';

/** A link to the projects. `compact` hides the name on a phone. */
const Brand = ({ compact = false }: { readonly compact?: boolean }) => (
  <Link to={paths.projects()} className="flex items-center gap-2 rounded pr-1 font-semibold">
    <span className="flex size-6 items-center justify-center rounded bg-accent text-on-accent">
      <ArrowRightLeft aria-hidden className="size-3.5" />
    </span>
    <span className={compact ? 'max-sm:sr-only' : ''}>Standin</span>
  </Link>
);

/** Shows the user's name from the API server, and lets the user sign out. */
const UserMenu = ({ user }: { readonly user: string }) => {
  const submit = useSubmit();
  return (
    <Menu
      trigger={
        <IconButton label={`Signed in as ${user}`}>
          <CircleUser aria-hidden />
        </IconButton>
      }
    >
      <MenuLabel>Signed in as</MenuLabel>
      <p className="max-w-72 px-2 pb-1 font-mono text-small break-all">{user}</p>
      <MenuSeparator />
      <MenuItem onSelect={() => submit(null, { method: 'post', action: paths.logout() })}>
        <LogOut aria-hidden /> Sign out
      </MenuItem>
    </Menu>
  );
};

export interface HeaderProps {
  readonly preferences: Preferences;
  readonly project: ProjectSwitcherProps | undefined;
  /** The signed-in user. Undefined in local mode. */
  readonly user: string | undefined;
  /** Whether the browser runs on an Apple device, whose keyboards have ⌘ instead of Ctrl. */
  readonly isApple: boolean;
}

/** The commands and the shortcut help are loaded after the page, because the page can be shown without them. */
const loadPalette = () => import('./command-palette.tsx');
const loadHelp = () => import('./shortcut-help.tsx');
const CommandPalette = lazy(() => loadPalette().then((module) => ({ default: module.CommandPalette })));
const ShortcutHelp = lazy(() => loadHelp().then((module) => ({ default: module.ShortcutHelp })));
const AFTER_PAGE_MS = 1_000;

/** Preloads the commands and the help, so that the commands do not miss keys typed right after ⌘K. */
const useLoadAfterPage = (): void => {
  useEffect(() => {
    const load = (): Promise<unknown> => Promise.all([loadPalette(), loadHelp()]);
    const timer = setTimeout(() => {
      // If the preload fails, the commands and the help are loaded when the user opens them.
      load().catch(() => undefined);
    }, AFTER_PAGE_MS);
    return () => clearTimeout(timer);
  }, []);
};

/** Listens for ⌘K and Ctrl+K, which work even if single-key shortcuts are turned off. */
const usePaletteKey = (open: () => void): void => {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      open();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [open]);
};

export const Header = ({ preferences, project, user, isApple }: HeaderProps) => {
  const palette = useLoadedDialog(loadPalette, 'commands');
  const help = useLoadedDialog(loadHelp, 'keyboard shortcuts');
  const navigate = useNavigate();
  usePaletteKey(palette.open);
  useLoadAfterPage();
  // What is typed while the palette is being loaded is meant for the palette.
  useShortcutKeys(preferences.keys === 'on' && palette.state === 'closed');
  useShortcuts([
    { keys: '?', label: 'Show keyboard shortcuts', run: help.open, general: true },
    { keys: 'g p', label: 'Go to all projects', run: () => navigate(paths.projects()), general: true },
  ]);
  return (
    <header className="sticky top-0 z-30 border-b border-line bg-page">
      <div className="flex h-11 items-center gap-1.5 px-3">
        <Brand compact={project !== undefined} />
        {project !== undefined && (
          <>
            <span aria-hidden className="text-control">
              /
            </span>
            <ProjectSwitcher {...project} />
          </>
        )}
        <div className="ml-auto flex items-center gap-1">
          <Button className="max-sm:hidden text-muted" onClick={palette.open}>
            <SquareTerminal aria-hidden />
            Commands
            <kbd className="ml-4 text-muted">{commandKeys(isApple)}</kbd>
          </Button>
          <IconButton label="Commands" className="sm:hidden" onClick={palette.open}>
            <SquareTerminal aria-hidden />
          </IconButton>
          <IconButton label="Keyboard shortcuts" onClick={help.open}>
            <CircleHelp aria-hidden />
          </IconButton>
          <PreferencesMenu preferences={preferences} />
          {user !== undefined && <UserMenu user={user} />}
        </div>
      </div>
      {palette.state === 'open' && (
        <Suspense fallback={null}>
          <CommandPalette open onOpenChange={palette.onOpenChange} current={project} isSignedIn={user !== undefined} />
        </Suspense>
      )}
      {help.state === 'open' && (
        <Suspense fallback={null}>
          <ShortcutHelp open onOpenChange={help.onOpenChange} keysAreOn={preferences.keys === 'on'} isApple={isApple} />
        </Suspense>
      )}
    </header>
  );
};

/** The login page's header, without search and navigation. */
export const SignedOutHeader = ({ preferences }: { readonly preferences: Preferences }) => (
  <header className="border-b border-line bg-page">
    <div className="flex h-11 items-center justify-between px-3">
      <Brand />
      <PreferencesMenu preferences={preferences} />
    </div>
  </header>
);
