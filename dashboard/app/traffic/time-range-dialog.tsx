import { useState, type FormEvent } from 'react';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Input } from '../ui/input.tsx';
import { absoluteRange, resolveRange, SECOND_US, type TimeRange } from '../requests/time-range.ts';
import { fromLocalInput, toLocalInput, type Zone } from '../requests/traffic-row.ts';

interface TimeRangeDialogProps {
  readonly range: TimeRange;
  readonly zone: Zone;
  readonly onChange: (range: TimeRange) => void;
  readonly onClose: () => void;
}

/** Asks for the start and end of a range, in the chosen time zone. */
export const TimeRangeDialog = ({ range, zone, onChange, onClose }: TimeRangeDialogProps) => {
  const { sinceUs, untilUs } = resolveRange(range, new Date());
  const [error, setError] = useState<string>();
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    // The inputs show whole seconds, so an unchanged time keeps its fraction of a second.
    const read = (name: string, before: number | undefined): number | undefined => {
      const value = form.get(name);
      const at = typeof value === 'string' ? fromLocalInput(value, zone) : undefined;
      const us = at && at.getTime() * 1_000;
      return us !== undefined && before !== undefined && before - (before % SECOND_US) === us ? before : us;
    };
    const [from, to] = [read('from', sinceUs), read('to', untilUs)];
    if (from !== undefined && to !== undefined && from >= to) {
      setError('Must be later than the start time.');
      return;
    }
    onChange(absoluteRange(from, to));
    onClose();
  };
  const shown = (us: number | undefined): string => (us === undefined ? '' : toLocalInput(new Date(us / 1_000), zone));
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="Time range"
      description={`In ${zone === 'utc' ? 'UTC' : 'local time'}. Leave the end time empty to include new requests.`}
    >
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <Field label="Start time" optional>
          <Input type="datetime-local" step={1} name="from" defaultValue={shown(sinceUs)} />
        </Field>
        <Field label="End time" optional errors={error === undefined ? [] : [error]}>
          <Input type="datetime-local" step={1} name="to" defaultValue={shown(untilUs)} />
        </Field>
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary">
            Show
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
};
