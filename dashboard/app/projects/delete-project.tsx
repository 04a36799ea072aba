import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Form } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Input } from '../ui/input.tsx';

export interface DeleteProjectProps {
  readonly project: string;
  readonly version: string;
  readonly endpointCount: number;
  readonly hasPinnedUri: boolean;
  /** The reason why the project was not deleted. */
  readonly refusal: string | undefined;
}

const count = (endpoints: number): string => (endpoints === 1 ? 'its endpoint' : `its ${endpoints} endpoints`);

export const DeleteProject = ({ project, version, endpointCount, hasPinnedUri, refusal }: DeleteProjectProps) => {
  const [open, setOpen] = useState(false);
  return (
    <section aria-labelledby="delete" className="flex flex-col items-start gap-2 rounded-lg border border-line p-4">
      <h2 id="delete" className="text-h2">
        Delete this project
      </h2>
      <p className="text-muted">
        Callers get 404 immediately. Captured requests are kept until they expire, unless you purge them first. A new
        project with the same name{hasPinnedUri && ' and pinned URI'} has the same URL and log.
      </p>
      <Button look="danger" onClick={() => setOpen(true)}>
        <Trash2 aria-hidden /> Delete project…
      </Button>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title={`Delete project ${project}?`}
        description="Its URL stops working immediately."
      >
        <Form method="post">
          <input type="hidden" name="intent" value="delete" />
          <input type="hidden" name="version" value={version} />
          <Field label={`Type ${project} to confirm`} errors={refusal === undefined ? [] : [refusal]}>
            <Input mono name="confirmation" />
          </Field>
          {endpointCount > 0 && (
            <label className="mt-3 flex items-center gap-2">
              <input type="checkbox" name="endpoints" defaultChecked className="size-4 accent-accent" />
              Also delete {count(endpointCount)}
            </label>
          )}
          <DialogButtons>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" look="danger">
              Delete project
            </Button>
          </DialogButtons>
        </Form>
      </Dialog>
    </section>
  );
};
