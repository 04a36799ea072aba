import { Command } from 'cmdk';
import { Dialog as Radix } from 'radix-ui';
import { useEffect, useRef, useState } from 'react';
import { paths } from '../paths.ts';
import { useNavigate, useSubmit } from '../remix.ts';
import { useRegisteredShortcuts } from './shortcuts.ts';
import { useReturnedFocus } from '../ui/initial-focus.ts';
import { Kbd } from '../ui/kbd.tsx';
import { THEMES, usePreferenceChange } from './preferences-menu.tsx';
import { endpointText, matchScore, projectText, useNavigationTargets } from './navigation-targets.ts';

export interface CommandPaletteProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly current: { readonly namespace: string; readonly project: string } | undefined;
  /** False in local mode, which has no users. */
  readonly isSignedIn: boolean;
}

/** The server is asked when the user pauses for this long. */
const TYPING_MS = 120;

const ITEM =
  'flex h-8 cursor-pointer items-center gap-3 rounded px-2 select-none data-[selected=true]:bg-selected [&>kbd]:ml-auto';
const GROUP =
  '[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:text-small [&_[cmdk-group-heading]]:text-muted';

interface PaletteAction {
  readonly label: string;
  readonly run: () => void;
  readonly keys?: string;
}

/** Returns the actions of the open page, and those that every page has. */
const useActions = ({ current, isSignedIn }: CommandPaletteProps): readonly PaletteAction[] => {
  const navigate = useNavigate();
  const submit = useSubmit();
  const { change } = usePreferenceChange();
  const ofPage: readonly PaletteAction[] = useRegisteredShortcuts().filter(({ hidden = false }) => !hidden);
  const everywhere: readonly PaletteAction[] = [
    ...(current === undefined ? [] : [{ label: 'New endpoint', run: () => navigate(paths.newEndpoint(current)) }]),
    { label: 'New project', run: () => navigate(paths.newProject()) },
    ...THEMES.map(({ value, label }) => ({ label: `Theme: ${label}`, run: () => change('theme')(value) })),
    ...(isSignedIn ? [{ label: 'Sign out', run: () => submit(null, { method: 'post', action: paths.logout() }) }] : []),
  ];
  return [...ofPage, ...everywhere.filter(({ label }) => ofPage.every((action) => action.label !== label))];
};

/** An item that passes the text on to the search of the Traffic page. No text matches its value, so it is the last item. */
const SearchItem = ({ q, onSelect }: { readonly q: string; readonly onSelect: () => void }) => (
  <Command.Group heading="Traffic" forceMount className={GROUP}>
    <Command.Item forceMount value="→" onSelect={onSelect} className={ITEM}>
      <span className="shrink-0">Search requests for</span>
      <code className="truncate">{q}</code>
    </Command.Item>
  </Command.Group>
);

/** Finds projects, endpoints of the current project and actions. Passes other text on to the search of the Traffic page. */
export const CommandPalette = (props: CommandPaletteProps) => {
  const { open, onOpenChange, current } = props;
  const navigate = useNavigate();
  const actions = useActions(props);
  const [text, setText] = useState('');
  const { targets, q: loadedQ, hasFailed, load } = useNavigationTargets(current);
  const q = targets.isPartial ? text.trim() : '';
  const isLoading = loadedQ !== q;
  useEffect(() => {
    if (!open) return;
    const timer = setTimeout(() => load(q), q === '' ? 0 : TYPING_MS);
    return () => clearTimeout(timer);
  }, [open, load, q]);
  const returnFocus = useReturnedFocus(open);
  // An action runs after the palette is closed, because it can move the focus, for example to a search box.
  const chosen = useRef<() => void>(undefined);
  const choose = (run: () => void) => () => {
    chosen.current = run;
    onOpenChange(false);
  };
  const go = (to: string) => choose(() => navigate(to));
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-overlay" />
        <Radix.Content
          aria-describedby={undefined}
          onCloseAutoFocus={(event) => {
            returnFocus(event);
            chosen.current?.();
          }}
          className="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-24px)] max-w-xl -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised shadow-2xl outline-none"
        >
          <Radix.Title className="sr-only">Commands</Radix.Title>
          {/* Otherwise, Ctrl+K would also select the previous item, and Ctrl+N, J and P could not be used in the browser. */}
          <Command label="Commands" loop vimBindings={false} filter={matchScore}>
            <Command.Input
              value={text}
              onValueChange={setText}
              placeholder="Find a project, an endpoint or a command…"
              className="h-11 w-full border-b border-line bg-transparent px-3 text-ui outline-none"
            />
            <Command.List label="Results" tabIndex={-1} className="max-h-92 overflow-y-auto p-1">
              {(isLoading || (current === undefined && !hasFailed)) && (
                <Command.Empty className="px-2 py-6 text-center text-muted">
                  {isLoading ? 'Loading…' : 'No results'}
                </Command.Empty>
              )}
              <Command.Group heading="Actions" className={GROUP}>
                {actions.map(({ keys, label, run }) => (
                  <Command.Item key={label} value={label} onSelect={choose(run)} className={ITEM}>
                    {label}
                    {keys !== undefined && <Kbd>{keys}</Kbd>}
                  </Command.Item>
                ))}
              </Command.Group>
              {current !== undefined && targets.endpoints.length > 0 && (
                <Command.Group heading="Endpoints" className={GROUP}>
                  {targets.endpoints.map((target) => (
                    <Command.Item
                      key={target.endpoint}
                      value={endpointText(target)}
                      onSelect={go(paths.endpoint({ ...current, endpoint: target.endpoint }))}
                      className={ITEM}
                    >
                      <span className="truncate">{target.title}</span>
                      <code className="truncate text-muted">{target.route}</code>
                    </Command.Item>
                  ))}
                </Command.Group>
              )}
              <Command.Group heading="Projects" className={GROUP}>
                {targets.projects.map((target) => (
                  <Command.Item
                    key={`${target.namespace}/${target.project}`}
                    value={projectText(target)}
                    onSelect={go(paths.project(target))}
                    className={ITEM}
                  >
                    <span className="truncate">{target.title}</span>
                    <code className="truncate text-muted">
                      {target.namespace}/{target.project}
                    </code>
                  </Command.Item>
                ))}
              </Command.Group>
              {/* As the only item, it would be selected, and stay selected when a project or an endpoint is found. */}
              {current !== undefined && text.trim() !== '' && !isLoading && (
                <SearchItem q={text.trim()} onSelect={go(paths.traffic(current, { q: text.trim() }))} />
              )}
            </Command.List>
            {hasFailed && (
              <p role="status" className="border-t border-line px-3 py-2 text-small text-muted">
                Can’t load projects and endpoints. Close the commands and try again.
              </p>
            )}
          </Command>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
};
