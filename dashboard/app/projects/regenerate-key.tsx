import { RefreshCw } from 'lucide-react';
import { useState } from 'react';
import type { KeyRegenerationView } from '../../src/accounts/key-regenerations.ts';
import { usePreferences } from '../shell/preferences.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { NotDone } from '../ui/error-summary.tsx';
import { Notice } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { useKeptFetcher } from '../ui/use-last-action-data.ts';

export interface RegenerateKeyProps extends KeyRegenerationView {
  readonly namespace: string;
  readonly account: string;
}

const Progress = ({ newest }: Pick<RegenerateKeyProps, 'newest'>) => {
  if (newest === undefined) return null;
  const { phase, acknowledged, message } = newest;
  switch (phase) {
    case 'Completed':
      return <Notice look="info">The new key is active. {message} Reveal the key above to copy it.</Notice>;
    case 'Refused':
      return <Notice look="bad">{message}</Notice>;
    case 'Pending':
      return <Notice look="info">The key has not been replaced yet. {message}</Notice>;
    case 'Running':
      return (
        <Notice look="info">
          The key is being replaced
          {acknowledged === undefined ? '' : `: ${acknowledged.replace('/', ' of ')} gateways have the new one`}.{' '}
          {message}
        </Notice>
      );
  }
};

/** Lets the user replace the account's key after showing the consequences. */
export const RegenerateKey = ({ namespace, account, left, max, resetsAt, newest }: RegenerateKeyProps) => {
  const { Form, answer, unsaved } = useKeptFetcher<{ readonly refusal?: string | undefined }>();
  const [open, setOpen] = useState(false);
  const { time } = usePreferences();
  const isUnderWay = newest?.phase === 'Pending' || newest?.phase === 'Running';
  return (
    <section aria-labelledby="regenerate" className="flex flex-col items-start gap-2 rounded-lg border border-line p-4">
      <h2 id="regenerate" className="text-h2">
        Regenerate key{' '}
      </h2>
      <p className="text-muted">
        Replace the key if it has leaked. The old key stops working when every gateway has the new one, usually within a
        second.
      </p>
      <div aria-live="polite" className="w-full empty:hidden">
        <Progress newest={newest} />
        <NotDone unsaved={unsaved} done="started" />
        {answer?.refusal !== undefined && <Notice look="bad">{answer.refusal}</Notice>}
      </div>
      <div className="flex flex-wrap items-center gap-3">
        <Button look="danger" disabled={left === 0 || isUnderWay} onClick={() => setOpen(true)}>
          <RefreshCw aria-hidden /> Regenerate key…
        </Button>
        <span className="text-small text-muted">
          {left} of {max} regenerations left (at most {max} within 60 minutes)
          {left === 0 && resetsAt !== undefined && (
            <>
              . The next regeneration is possible from <Time at={resetsAt} zone={time} />
            </>
          )}
        </span>
      </div>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title={`Regenerate the API key for ${account}?`}
        description={
          <>
            All callers of all projects in account{' '}
            <code>
              {namespace}/{account}
            </code>{' '}
            get 401 until they send the new key. This can’t be undone.
          </>
        }
      >
        <Form method="post" onSubmit={() => setOpen(false)}>
          <input type="hidden" name="intent" value="regenerate" />
          <DialogButtons>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" look="danger">
              Regenerate key
            </Button>
          </DialogButtons>
        </Form>
      </Dialog>
    </section>
  );
};
