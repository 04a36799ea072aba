import { DropdownMenu as Radix } from 'radix-ui';
import type { ReactElement, ReactNode } from 'react';
import { Link } from '../lib/remix.ts';

export interface MenuProps {
  /** A button. */
  readonly trigger: ReactElement;
  readonly children: ReactNode;
  readonly align?: 'start' | 'end';
  readonly onOpenChange?: (open: boolean) => void;
}

export const Menu = ({ trigger, children, align = 'end', onOpenChange }: MenuProps) => (
  <Radix.Root modal={false} {...(onOpenChange !== undefined && { onOpenChange })}>
    <Radix.Trigger asChild>{trigger}</Radix.Trigger>
    {/* Where it is opened, not at the end of the page: what is on the screen stays within a landmark. */}
    <Radix.Content
      align={align}
      sideOffset={4}
      collisionPadding={8}
      className="z-50 max-h-[70vh] min-w-44 overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-xl"
    >
      {children}
    </Radix.Content>
  </Radix.Root>
);

const ITEM =
  'flex h-7 items-center gap-2 rounded px-2 text-ui outline-none select-none cursor-pointer data-[highlighted]:bg-selected data-[disabled]:text-muted [&_svg]:size-3.5 [&_svg]:text-muted';

export const MenuLink = ({ to, children }: { readonly to: string; readonly children: ReactNode }) => (
  <Radix.Item asChild>
    <Link to={to} className={ITEM}>
      {children}
    </Link>
  </Radix.Item>
);

/** A file: the browser saves it, whatever it is. */
export const MenuDownload = ({ to, children }: { readonly to: string; readonly children: ReactNode }) => (
  <Radix.Item asChild>
    <a href={to} download className={ITEM}>
      {children}
    </a>
  </Radix.Item>
);

export interface MenuItemProps {
  readonly onSelect: () => void;
  readonly children: ReactNode;
}

export const MenuItem = ({ onSelect, children }: MenuItemProps) => (
  <Radix.Item className={ITEM} onSelect={onSelect}>
    {children}
  </Radix.Item>
);

export interface MenuChoicesProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly onChange: (value: string) => void;
}

/** One of several. */
export const MenuChoices = ({ label, value, choices, onChange }: MenuChoicesProps) => (
  <Radix.RadioGroup value={value} onValueChange={onChange} aria-label={label}>
    <Radix.Label className="px-2 pt-1.5 pb-0.5 text-small text-muted">{label}</Radix.Label>
    {choices.map((choice) => (
      <Radix.RadioItem key={choice.value} value={choice.value} className={ITEM}>
        <span aria-hidden className="flex size-3.5 items-center justify-center">
          <Radix.ItemIndicator>✓</Radix.ItemIndicator>
        </span>
        {choice.label}
      </Radix.RadioItem>
    ))}
  </Radix.RadioGroup>
);

export const MenuSeparator = () => <Radix.Separator className="my-1 h-px bg-line" />;
export const MenuLabel = ({ children }: { readonly children: ReactNode }) => (
  <Radix.Label className="px-2 pt-1.5 pb-0.5 text-small text-muted">{children}</Radix.Label>
);
