import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { NotSaved } from '../ui/error-summary.tsx';
import { Field } from '../ui/field.tsx';
import { Input } from '../ui/input.tsx';
import { useFormEdited } from '../ui/kept-form.ts';
import { useKeptFetcher } from '../ui/use-last-action-data.ts';

export interface DeleteProjectProps {
  readonly project: string;
  readonly version: string;
  readonly endpointCount: number;
  readonly hasPinnedUri: boolean;
}

const count = (endpoints: number): string => (endpoints === 1 ? 'its endpoint' : `its ${endpoints} endpoints`);

export const DeleteProject = ({ project, version, endpointCount, hasPinnedUri }: DeleteProjectProps) => {
  const [open, setOpen] = useState(false);
  const [isEdited, setEdited] = useState(false);
  useFormEdited(open && isEdited);
  // Submitted without a navigation, because the page has another form, which must keep its input.
  const { Form, isSending, answer, unsaved, forget } = useKeptFetcher<{ readonly deletion?: string }>();
  const openDialog = (): void => {
    forget();
    setOpen(true);
  };
  return (
    <section aria-labelledby="delete" className="flex flex-col items-start gap-2 rounded-lg border border-line p-4">
      <h2 id="delete" className="text-h2">
        Delete this project
      </h2>
      <p className="text-muted">
        Callers get 404 immediately. Captured requests are kept until they expire, unless you purge them first. A new
        project with the same name{hasPinnedUri && ' and pinned URI'} has the same URL and log.
      </p>
      <Button look="danger" onClick={openDialog}>
        <Trash2 aria-hidden /> Delete project…
      </Button>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title={`Delete project ${project}?`}
        description="Its URL stops working immediately."
      >
        <Form method="post" onInput={() => setEdited(true)}>
          <input type="hidden" name="intent" value="delete" />
          <input type="hidden" name="version" value={version} />
          <Field label={`Type ${project} to confirm`} errors={answer?.deletion === undefined ? [] : [answer.deletion]}>
            <Input mono name="confirmation" />
          </Field>
          {endpointCount > 0 && (
            <label className="mt-3 flex items-center gap-2">
              <input type="checkbox" name="endpoints" defaultChecked className="size-4 accent-accent" />
              Also delete {count(endpointCount)}
            </label>
          )}
          <div className="mt-3 empty:hidden">
            <NotSaved unsaved={unsaved} done="deleted" canRetry={false} />
          </div>
          <DialogButtons>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" look="danger" disabled={isSending}>
              Delete project
            </Button>
          </DialogButtons>
        </Form>
      </Dialog>
    </section>
  );
};
