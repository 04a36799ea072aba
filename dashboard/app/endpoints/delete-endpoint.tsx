import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { NotDone } from '../ui/error-summary.tsx';
import { useKeptFetcher } from '../ui/use-last-action-data.ts';

export interface DeleteEndpointProps {
  readonly title: string;
  readonly method: string;
  readonly slug: string;
  readonly version: string;
  /** The URL that the form is submitted to. */
  readonly action: string;
}

export const DeleteEndpoint = ({ title, method, slug, version, action }: DeleteEndpointProps) => {
  const [open, setOpen] = useState(false);
  const { Form, isSending, unsaved, forget } = useKeptFetcher();
  const openDialog = (): void => {
    forget();
    setOpen(true);
  };
  return (
    <>
      <Button look="ghost" onClick={openDialog}>
        <Trash2 aria-hidden /> Delete
      </Button>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title={`Delete ${title}?`}
        description={
          <>
            If another endpoint matches{' '}
            <code>
              {method} {slug}
            </code>
            , it responds instead. Otherwise, callers get 404, or 405 if one matches this path but not this method.
            Captured requests stay in the log until they expire.
          </>
        }
      >
        <Form method="post" action={action}>
          <input type="hidden" name="version" value={version} />
          <NotDone unsaved={unsaved} done="deleted" />
          <DialogButtons>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" look="danger" disabled={isSending}>
              Delete endpoint
            </Button>
          </DialogButtons>
        </Form>
      </Dialog>
    </>
  );
};
