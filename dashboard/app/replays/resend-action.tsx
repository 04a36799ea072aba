import { Send } from 'lucide-react';
import { useRef, useState } from 'react';
import type { RequestName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { useNavigate } from '../remix.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { useInitialFocus } from '../ui/initial-focus.ts';
import { failureText, isUnsaved, postForm, type Unsaved } from '../ui/kept-form.ts';
import { toast } from '../ui/toast.tsx';
import { newSubmission, NOT_TWICE, SUBMISSION } from './submission.tsx';

/** The response to a request to resend. `ask` means that nothing was sent and that the user must confirm. */
export type Resent =
  | { readonly kind: 'sent'; readonly replay: string }
  | { readonly kind: 'ask'; readonly method: string; readonly upstream: string | undefined };

/** The form field of a confirmed resend. */
export const CONFIRMED = 'confirmed';

/** Sends a captured request again, unchanged, to its endpoint, and opens the result. Asks first if that can have an effect. */
export const ResendAction = ({ exchange }: { readonly exchange: RequestName }) => {
  const [asked, setAsked] = useState<Extract<Resent, { kind: 'ask' }>>();
  const [isSending, setIsSending] = useState(false);
  /** Stays the same until a response shows whether the request was sent. */
  const submission = useRef<string>(undefined);
  const navigate = useNavigate();
  const resend = async (isConfirmed = false): Promise<void> => {
    if (isSending) return;
    setAsked(undefined);
    setIsSending(true);
    submission.current ??= newSubmission();
    const body = new URLSearchParams({ [SUBMISSION]: submission.current, ...(isConfirmed && { [CONFIRMED]: 'true' }) });
    const answer = await postForm<Resent | Unsaved>(paths.resendExchange(exchange), body);
    setIsSending(false);
    if (isUnsaved(answer)) {
      if (!answer.isUnknown) submission.current = undefined;
      toast([failureText(answer, 'sent'), ...(answer.isUnknown ? [NOT_TWICE] : [])].join(' '), 'bad');
    } else if (answer.kind === 'ask') setAsked(answer);
    else {
      submission.current = undefined;
      navigate(paths.replay({ ...exchange, replay: answer.replay }));
    }
  };
  useShortcuts([{ keys: 'R', label: 'Resend this request unchanged', run: () => void resend() }]);
  return (
    <>
      <Button disabled={isSending} title="Resend unchanged to the endpoint (⇧R)" onClick={() => void resend()}>
        <Send aria-hidden /> Resend
      </Button>
      <Dialog
        open={asked !== undefined}
        onOpenChange={() => setAsked(undefined)}
        title={`Resend this ${asked?.method ?? ''} request?`}
        description={
          asked?.upstream === undefined ? (
            'The endpoint receives the same request again. The new request is captured and counts against the quota.'
          ) : (
            <>
              The endpoint receives the same request again and can forward it to{' '}
              <span className="break-all">{asked.upstream}</span>, which may process it twice.
            </>
          )
        }
      >
        <Confirm onCancel={() => setAsked(undefined)} onConfirm={() => void resend(true)} />
      </Dialog>
    </>
  );
};

const Confirm = ({ onCancel, onConfirm }: { readonly onCancel: () => void; readonly onConfirm: () => void }) => {
  const confirm = useInitialFocus<HTMLButtonElement>();
  return (
    <DialogButtons>
      <Button onClick={onCancel}>Cancel</Button>
      <Button ref={confirm} look="primary" onClick={onConfirm}>
        Resend
      </Button>
    </DialogButtons>
  );
};
