import { X } from 'lucide-react';
import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';
import { IconButton } from './icon-button.tsx';
import { useReturnedFocus } from './initial-focus.ts';

export interface ModalProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  /** A sentence below the title, for example about the consequences of confirming. */
  readonly description?: ReactNode;
  readonly children: ReactNode;
  readonly wide?: boolean;
}

/** A modal dialog. It keeps focus inside and restores it on close. Escape closes the dialog. */
export const Modal = ({ open, onOpenChange, title, description, children, wide = false }: ModalProps) => {
  const returnFocus = useReturnedFocus(open);
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-overlay" />
        <Radix.Content
          onCloseAutoFocus={returnFocus}
          {...(description === undefined && { 'aria-describedby': undefined })}
          className={classNames(
            'fixed top-[12vh] left-1/2 z-50 max-h-[80vh] w-[calc(100vw-24px)] -translate-x-1/2 overflow-y-auto rounded-lg border border-line bg-raised shadow-2xl outline-none',
            wide ? 'max-w-2xl' : 'max-w-md',
          )}
        >
          <div className="flex items-start justify-between gap-4 px-4 pt-3 pb-1">
            <Radix.Title className="text-h2">{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label="Close" className="-mr-1.5">
                <X aria-hidden />
              </IconButton>
            </Radix.Close>
          </div>
          {description !== undefined && (
            <Radix.Description asChild>
              <div className="px-4 text-muted">{description}</div>
            </Radix.Description>
          )}
          <div className="px-4 pt-3 pb-4">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
};
