import { commandKeys, useRegisteredShortcuts } from './shortcuts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Kbd } from '../ui/kbd.tsx';

/** The OpenAPI document. It is not in `paths`, because it is not a Remix route. */
const API_DOCUMENT = '/api/v1/openapi.json';

export interface ShortcutHelpProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly keysAreOn: boolean;
  readonly isApple: boolean;
}

/** Lists the keyboard shortcuts of the open page. */
export const ShortcutHelp = ({ open, onOpenChange, keysAreOn, isApple }: ShortcutHelpProps) => {
  const shortcuts = useRegisteredShortcuts();
  const rows = [
    { keys: [commandKeys(isApple)], label: 'Commands' },
    ...shortcuts.map(({ keys, label }) => ({ keys: keys.split(' '), label })),
  ];
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="Keyboard shortcuts"
      description={
        keysAreOn
          ? undefined
          : `Single-key shortcuts are turned off in the preferences. ${commandKeys(isApple)} always works.`
      }
    >
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-1.5">
        {rows.map(({ keys, label }) => (
          <div key={`${keys.join(' ')} ${label}`} className="contents">
            <dt className="flex gap-1">
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-4 border-t border-line pt-3 text-small text-muted">
        For programmatic access to captured requests, replays and links, use the{' '}
        <a href={API_DOCUMENT} className="text-accent underline">
          JSON API
        </a>
        .
      </p>
    </Dialog>
  );
};
