import { Pause, Play, X } from 'lucide-react';
import { useState } from 'react';
import { Form } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { hasEnded, inWords, type ReplayView } from './replay-view.ts';

interface ChangeProps {
  readonly version: string;
  readonly state: string;
  readonly onSubmit?: () => void;
  readonly children: React.ReactNode;
}

const Change = ({ version, state, onSubmit, children }: ChangeProps) => (
  <Form method="post" preventScrollReset onSubmit={() => onSubmit?.()}>
    <input type="hidden" name="version" value={version} />
    <input type="hidden" name="state" value={state} />
    {children}
  </Form>
);

const Controls = ({ replay: { version, state } }: { readonly replay: ReplayView }) => {
  const [asks, setAsks] = useState(false);
  return (
    <div className="flex flex-wrap gap-2">
      <Change version={version} state={state === 'Suspended' ? 'Running' : 'Suspended'}>
        <Button type="submit">
          {state === 'Suspended' ? <Play aria-hidden /> : <Pause aria-hidden />}
          {state === 'Suspended' ? 'Resume' : 'Pause'}
        </Button>
      </Change>
      <Button look="ghost" onClick={() => setAsks(true)}>
        <X aria-hidden /> Cancel replay
      </Button>
      <Dialog
        open={asks}
        onOpenChange={setAsks}
        title="Cancel this replay?"
        description="Requests that were already sent can’t be undone, and their results stay here. A cancelled replay can’t be resumed."
      >
        <Change version={version} state="Cancelled" onSubmit={() => setAsks(false)}>
          <DialogButtons>
            <Button onClick={() => setAsks(false)}>Keep replay</Button>
            <Button type="submit" look="danger">
              Cancel replay
            </Button>
          </DialogButtons>
        </Change>
      </Dialog>
    </div>
  );
};

const count = (value: number): string => value.toLocaleString('en');

/** Shows the progress and, until the replay ends, the available actions. */
export const ReplayProgress = ({ replay }: { readonly replay: ReplayView }) => {
  const { planned, sent, failed, ratePerSecond, isOrdered } = replay;
  const isRunning = !hasEnded(replay);
  const left = planned === undefined ? undefined : Math.max(0, planned - sent);
  return (
    <section aria-labelledby="progress" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-end justify-between gap-x-4 gap-y-2">
        <div>
          <h2 id="progress" className="text-h2 tabular-nums">
            {count(sent)} {planned === undefined ? 'sent' : `of ${count(planned)} sent`}
            {failed > 0 && <span className="text-5xx">, {count(failed)} without a response</span>}
          </h2>
          <p className="text-small text-muted">
            Up to {count(ratePerSecond)} per second, {isOrdered ? 'one at a time' : 'several at a time'}
            {isRunning &&
              left !== undefined &&
              left >= ratePerSecond &&
              `; at least ${inWords(left / ratePerSecond)} left`}
            .
          </p>
        </div>
        {isRunning && <Controls replay={replay} />}
      </div>
      <progress
        aria-label="Requests sent"
        value={sent}
        max={Math.max(planned ?? 0, sent, 1)}
        className="h-2 w-full appearance-none overflow-hidden rounded bg-hover [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-hover [&::-webkit-progress-value]:bg-accent"
      />
    </section>
  );
};
