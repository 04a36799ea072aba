import {
  cloneElement,
  createContext,
  useContext,
  useState,
  type HTMLAttributes,
  type ReactElement,
  type ReactNode,
} from 'react';
import { Link } from '../remix.ts';
import type { menuParts } from './menu-parts.ts';
import { toast } from './toast.tsx';

export interface MenuProps {
  /** The button that opens the menu. */
  readonly trigger: ReactElement;
  readonly children: ReactNode;
  readonly align?: 'start' | 'end';
  readonly onOpenChange?: (open: boolean) => void;
}

type MenuParts = typeof menuParts;

const loadParts = async (): Promise<MenuParts> => (await import('./menu-parts.ts')).menuParts;

const PartsContext = createContext<MenuParts | undefined>(undefined);

/** Returns the components of the surrounding menu. */
const useParts = (): MenuParts => {
  const parts = useContext(PartsContext);
  if (parts === undefined) throw new Error('a menu item must be inside a menu');
  return parts;
};

/** A menu. Only its button is rendered until it is opened for the first time. */
export const Menu = ({ trigger, children, align = 'end', onOpenChange }: MenuProps) => {
  const [parts, setParts] = useState<MenuParts>();
  const [isOpen, setIsOpen] = useState(false);
  const change = (open: boolean): void => {
    setIsOpen(open);
    onOpenChange?.(open);
  };
  if (parts === undefined) {
    const prepare = (): void => void loadParts().catch(() => undefined);
    const open = (): void => {
      loadParts().then(
        (loaded) => {
          setParts(loaded);
          change(true);
        },
        () => toast('Can’t load the menu. Reload the page.', 'bad'),
      );
    };
    return cloneElement(trigger as ReactElement<HTMLAttributes<HTMLElement>>, {
      'aria-haspopup': 'menu',
      'aria-expanded': false,
      onPointerEnter: prepare,
      onFocus: prepare,
      onClick: open,
      onKeyDown: (event) => {
        if (event.key === 'ArrowDown') open();
      },
    });
  }
  return (
    <PartsContext.Provider value={parts}>
      <parts.Root modal={false} open={isOpen} onOpenChange={change}>
        <parts.Trigger asChild>{trigger}</parts.Trigger>
        {/* Rendered in place instead of at the end of the page, so that the content stays within a landmark. */}
        <parts.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="z-50 max-h-[70vh] min-w-44 overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-xl"
        >
          {children}
        </parts.Content>
      </parts.Root>
    </PartsContext.Provider>
  );
};

const ITEM =
  'flex h-7 items-center gap-2 rounded px-2 text-ui outline-none select-none cursor-pointer data-[highlighted]:bg-selected data-[disabled]:text-muted [&_svg]:size-3.5 [&_svg]:text-muted';

export const MenuLink = ({ to, children }: { readonly to: string; readonly children: ReactNode }) => {
  const parts = useParts();
  return (
    <parts.Item asChild>
      <Link to={to} className={ITEM}>
        {children}
      </Link>
    </parts.Item>
  );
};

/** A menu item that downloads a file of any type. */
export const MenuDownload = ({ to, children }: { readonly to: string; readonly children: ReactNode }) => {
  const parts = useParts();
  return (
    <parts.Item asChild>
      <a href={to} download className={ITEM}>
        {children}
      </a>
    </parts.Item>
  );
};

export interface MenuItemProps {
  readonly onSelect: () => void;
  readonly children: ReactNode;
}

export const MenuItem = ({ onSelect, children }: MenuItemProps) => {
  const parts = useParts();
  return (
    <parts.Item className={ITEM} onSelect={onSelect}>
      {children}
    </parts.Item>
  );
};

export interface MenuCheckboxProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly children: ReactNode;
}

/** An option that is turned on and off. The menu stays open. */
export const MenuCheckbox = ({ checked, onChange, children }: MenuCheckboxProps) => {
  const parts = useParts();
  return (
    <parts.CheckboxItem
      checked={checked}
      onCheckedChange={onChange}
      onSelect={(event) => event.preventDefault()}
      className={ITEM}
    >
      <CheckMark />
      {children}
    </parts.CheckboxItem>
  );
};

/** A mark in front of a selected option. */
const CheckMark = () => {
  const parts = useParts();
  return (
    <span aria-hidden className="flex size-3.5 items-center justify-center">
      <parts.ItemIndicator>✓</parts.ItemIndicator>
    </span>
  );
};

export interface MenuChoicesProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly onChange: (value: string) => void;
}

/** A group of options, one of which is selected. */
export const MenuChoices = ({ label, value, choices, onChange }: MenuChoicesProps) => {
  const parts = useParts();
  return (
    <parts.RadioGroup value={value} onValueChange={onChange} aria-label={label}>
      <parts.Label className="px-2 pt-1.5 pb-0.5 text-small text-muted">{label}</parts.Label>
      {choices.map((choice) => (
        <parts.RadioItem key={choice.value} value={choice.value} className={ITEM}>
          <CheckMark />
          {choice.label}
        </parts.RadioItem>
      ))}
    </parts.RadioGroup>
  );
};

export const MenuSeparator = () => {
  const parts = useParts();
  return <parts.Separator className="my-1 h-px bg-line" />;
};
export const MenuLabel = ({ children }: { readonly children: ReactNode }) => {
  const parts = useParts();
  return <parts.Label className="px-2 pt-1.5 pb-0.5 text-small text-muted">{children}</parts.Label>;
};
