import { Check, ChevronDown, Clock } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { Button } from '../ui/button.tsx';
import { Menu, MenuItem, MenuSeparator } from '../ui/menu.tsx';
import { useLoadedDialog } from '../ui/use-loaded-dialog.ts';
import { ALL_TIME, presetLabel, PRESETS, resolveRange, type TimeRange } from '../requests/time-range.ts';
import { formatInstant, type Zone } from '../requests/traffic-row.ts';

const loadDialog = () => import('./time-range-dialog.tsx');
const TimeRangeDialog = lazy(() => loadDialog().then((module) => ({ default: module.TimeRangeDialog })));

/** Returns the name of a preset, or describes the range: `11-21 10:00:00 – 11:30:00`, `since 11-21 10:00:00`. */
const describeRange = (range: TimeRange, zone: Zone): string => {
  const preset = presetLabel(range);
  if (preset !== undefined) return preset;
  const { sinceUs, untilUs } = resolveRange(range, new Date());
  const shown = (us: number | undefined): string | undefined =>
    us === undefined ? undefined : formatInstant(new Date(us / 1_000), zone).slice(5, 19);
  const [start, end] = [shown(sinceUs), shown(untilUs)];
  if (start === undefined) return `until ${end ?? ''}`;
  if (end === undefined) return `since ${start}`;
  return `${start} – ${start.slice(0, 5) === end.slice(0, 5) ? end.slice(6) : end}`;
};

export interface TimeRangeMenuProps {
  readonly range: TimeRange;
  readonly zone: Zone;
  readonly onChange: (range: TimeRange) => void;
}

export const TimeRangeMenu = ({ range, zone, onChange }: TimeRangeMenuProps) => {
  const dialog = useLoadedDialog(loadDialog, 'time range');
  const label = describeRange(range, zone);
  const isPreset = range.to === undefined;
  return (
    <>
      <Menu
        trigger={
          <Button aria-label={`Time range: ${label}`}>
            <Clock aria-hidden />
            {label}
            <ChevronDown aria-hidden />
          </Button>
        }
      >
        {PRESETS.map(({ from, label: text }) => (
          <MenuItem key={text} onSelect={() => onChange(from === undefined ? ALL_TIME : { from, to: undefined })}>
            <span className="flex-1">{text}</span>
            {isPreset && range.from === from && <Check aria-label="current" />}
          </MenuItem>
        ))}
        <MenuSeparator />
        <MenuItem onSelect={dialog.open}>Custom range…</MenuItem>
      </Menu>
      {dialog.state === 'open' && (
        <Suspense fallback={null}>
          <TimeRangeDialog range={range} zone={zone} onChange={onChange} onClose={() => dialog.onOpenChange(false)} />
        </Suspense>
      )}
    </>
  );
};
