import { usePreferences } from '../shell/preferences.ts';
import { formatDuration } from '../requests/traffic-row.ts';
import { Time } from '../ui/time.tsx';
import type { ExchangeTabProps } from './request-tab.tsx';
import { recordedStages, type Stage } from './timing.ts';

/** The minimum bar width, in percent, so that short stages are visible. */
const BAR_WIDTH_MIN = 0.6;

const Bar = ({ stage: { fromMs, toMs }, totalMs }: { readonly stage: Stage; readonly totalMs: number }) => {
  const share = (ms: number): number => (totalMs === 0 ? 0 : (ms / totalMs) * 100);
  const width = Math.max(share(toMs - fromMs), BAR_WIDTH_MIN);
  return (
    <svg aria-hidden viewBox="0 0 100 8" preserveAspectRatio="none" className="block h-3 w-full rounded-sm bg-panel">
      <rect x={Math.min(share(fromMs), 100 - BAR_WIDTH_MIN)} width={width} height="8" className="fill-control" />
    </svg>
  );
};

/** Shows the recorded times as a waterfall chart. */
export const TimingTab = ({ view }: ExchangeTabProps) => {
  const { time } = usePreferences();
  const stages = recordedStages(view);
  return (
    <>
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">Duration of each stage</caption>
        <thead>
          <tr className="h-7 border-b border-line text-small text-muted [&>th]:font-normal">
            <th scope="col">Stage</th>
            <th scope="col" className="w-1/4 @xl:w-1/2">
              <span className="sr-only">When</span>
            </th>
            <th scope="col" className="w-20 text-right">
              Time
            </th>
          </tr>
        </thead>
        <tbody>
          {stages.map((stage) => (
            <tr key={stage.name} className="border-b border-line">
              <th scope="row" className="py-1 pr-3 font-normal">
                {stage.name}
                <span className="block text-small text-muted">{stage.explanation}</span>
              </th>
              <td>
                <Bar stage={stage} totalMs={view.durationMs} />
              </td>
              <td className="text-right tabular-nums">{formatDuration(stage.toMs - stage.fromMs)}</td>
            </tr>
          ))}
        </tbody>
        {stages.length > 1 && (
          <tfoot>
            <tr>
              <th scope="row" className="py-1">
                Total
              </th>
              <td />
              <td className="text-right font-medium tabular-nums">{formatDuration(view.durationMs)}</td>
            </tr>
          </tfoot>
        )}
      </table>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 text-small [&_dt]:text-muted">
        <dt>Headers received</dt>
        <dd>
          <Time at={view.receivedAt} zone={time} /> <code className="text-muted">{view.receivedAt}</code>
        </dd>
        <dt>Client address</dt>
        <dd className="font-mono">{view.clientAddress}</dd>
        <dt>Expires</dt>
        <dd>
          <Time at={view.expiresAt} zone={time} />
        </dd>
      </dl>
    </>
  );
};
