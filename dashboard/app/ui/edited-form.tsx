import type { ReactNode } from 'react';
import { useBeforeUnload, useBlocker } from '../remix.ts';
import { Button } from './button.tsx';
import { Dialog, DialogButtons } from './dialog.tsx';
import { useFormEdited } from './kept-form.ts';

/**
 * Asks before the user leaves an edited form, and protects the form while data is reloaded (`keepLoaded`). A submission to the page
 * itself does not ask.
 */
export const EditedForm = ({ isEdited }: { readonly isEdited: boolean }): ReactNode => {
  useFormEdited(isEdited);
  useBeforeUnload((event) => {
    if (isEdited) event.preventDefault();
  });
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => isEdited && currentLocation.pathname !== nextLocation.pathname,
  );
  return (
    <Dialog
      open={blocker.state === 'blocked'}
      onOpenChange={() => blocker.reset?.()}
      title="Leave without saving?"
      description="Your changes to this form are not saved."
    >
      <DialogButtons>
        <Button onClick={() => blocker.proceed?.()}>Leave</Button>
        <Button look="primary" onClick={() => blocker.reset?.()}>
          Keep editing
        </Button>
      </DialogButtons>
    </Dialog>
  );
};
