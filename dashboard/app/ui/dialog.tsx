import { useEffect, useState, type ComponentType, type ReactNode } from 'react';
import type { ModalProps } from './modal.tsx';

/**
 * A modal dialog. Its code is loaded after the page, because most pages are used without their dialogs. If it cannot be loaded, it
 * is loaded again when the dialog is opened.
 */
export const Dialog = (props: ModalProps): ReactNode => {
  const [Modal, setModal] = useState<ComponentType<ModalProps>>();
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
