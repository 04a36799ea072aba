import { Command } from 'cmdk';
import { Dialog as Radix } from 'radix-ui';
import { useEffect } from 'react';
import { paths } from '../paths.ts';
import { useNavigate } from '../remix.ts';
import { useRegisteredShortcuts } from './shortcuts.ts';
import { Kbd } from '../ui/kbd.tsx';
import { useNavigationTargets } from './navigation-targets.ts';

export interface CommandPaletteProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly current: { readonly namespace: string; readonly project: string } | undefined;
}

const ITEM =
  'flex h-8 cursor-pointer items-center gap-3 rounded px-2 select-none data-[selected=true]:bg-selected [&>kbd]:ml-auto';
const GROUP =
  '[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:text-small [&_[cmdk-group-heading]]:text-muted';

/** Finds projects, endpoints of the current project, and actions on the open page. */
export const CommandPalette = ({ open, onOpenChange, current }: CommandPaletteProps) => {
  const navigate = useNavigate();
  const actions = useRegisteredShortcuts().filter(({ hidden = false }) => !hidden);
  const { targets, load } = useNavigationTargets(current);
  useEffect(() => {
    if (open) load();
  }, [open, load]);
  const choose = (run: () => void) => () => {
    onOpenChange(false);
    run();
  };
  const go = (to: string) => choose(() => navigate(to));
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-overlay" />
        <Radix.Content
          aria-describedby={undefined}
          className="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-24px)] max-w-xl -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised shadow-2xl outline-none"
        >
          <Radix.Title className="sr-only">Command palette</Radix.Title>
          <Command label="Command palette" loop>
            <Command.Input
              placeholder="Search projects, endpoints and actions…"
              className="h-11 w-full border-b border-line bg-transparent px-3 text-ui outline-none"
            />
            <Command.List label="Results" tabIndex={-1} className="max-h-80 overflow-y-auto p-1">
              <Command.Empty className="px-2 py-6 text-center text-muted">No results</Command.Empty>
              <Command.Group heading="Actions" className={GROUP}>
                {actions.map(({ keys, label, run }) => (
                  <Command.Item key={keys} value={label} onSelect={choose(run)} className={ITEM}>
                    {label}
                    <Kbd>{keys}</Kbd>
                  </Command.Item>
                ))}
              </Command.Group>
              {current !== undefined && targets.endpoints.length > 0 && (
                <Command.Group heading="Endpoints" className={GROUP}>
                  {targets.endpoints.map(({ endpoint, title, route }) => (
                    <Command.Item
                      key={endpoint}
                      value={`endpoint ${endpoint} ${title} ${route}`}
                      onSelect={go(paths.endpoint({ ...current, endpoint }))}
                      className={ITEM}
                    >
                      <span className="truncate">{title}</span>
                      <code className="truncate text-muted">{route}</code>
                    </Command.Item>
                  ))}
                </Command.Group>
              )}
              <Command.Group heading="Projects" className={GROUP}>
                {targets.projects.map(({ namespace, project, title }) => (
                  <Command.Item
                    key={`${namespace}/${project}`}
                    value={`project ${namespace}/${project} ${title}`}
                    onSelect={go(paths.project({ namespace, project }))}
                    className={ITEM}
                  >
                    <span className="truncate">{title}</span>
                    <code className="truncate text-muted">
                      {namespace}/{project}
                    </code>
                  </Command.Item>
                ))}
              </Command.Group>
            </Command.List>
          </Command>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
};
