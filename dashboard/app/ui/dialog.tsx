import { useEffect, useState, type ComponentType, type ReactNode } from 'react';

export interface DialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  /** A sentence below the title, for example about the consequences of confirming. */
  readonly description?: ReactNode;
  readonly children: ReactNode;
  readonly wide?: boolean;
}

/**
 * A modal dialog. Its code is loaded after the page, because most pages are used without their dialogs. If it cannot be loaded, it
 * is loaded again when the dialog is opened.
 */
export const Dialog = (props: DialogProps): ReactNode => {
  const [Modal, setModal] = useState<ComponentType<DialogProps>>();
  const isLoaded = Modal !== undefined;
  useEffect(() => {
    if (isLoaded) return;
    import('./modal.tsx').then(
      (module) => setModal(() => module.Modal),
      () => undefined,
    );
  }, [isLoaded, props.open]);
  return isLoaded ? <Modal {...props} /> : null;
};

export const DialogButtons = ({ children }: { readonly children: ReactNode }) => (
  <div className="mt-4 flex flex-wrap justify-end gap-2">{children}</div>
);
