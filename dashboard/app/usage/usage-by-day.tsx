import type { DayUsage } from '@standin/logstore';
import { formatCount } from '../requests/traffic-row.ts';
import { formatDay } from './format-day.ts';

const HEIGHT = 96;
const BAR = 10;
const GAP = 2;
const VISIBLE_MIN = 2;

/**
 * Shows a bar for each day. Also shows the days with requests as a table, for users who cannot see the bars or want the numbers.
 */
export const UsageByDay = ({ days }: { readonly days: readonly DayUsage[] }) => {
  const highest = Math.max(1, ...days.map(({ requests }) => requests));
  const width = days.length * BAR;
  return (
    <section aria-labelledby="by-day" className="flex flex-col gap-2">
      <h2 id="by-day" className="text-h2">
        By day
      </h2>
      <div className="flex gap-2">
        <div aria-hidden className="flex flex-col justify-between text-right text-small text-muted tabular-nums">
          <span>{formatCount(highest)}</span>
          <span>0</span>
        </div>
        <svg
          aria-hidden
          viewBox={`0 0 ${width} ${HEIGHT}`}
          preserveAspectRatio="none"
          className="h-24 w-full border-b border-line"
        >
          {days.map(({ day, requests }, index) => {
            const height = requests === 0 ? 0 : Math.max(VISIBLE_MIN, (requests / highest) * HEIGHT);
            return (
              <g key={day}>
                <title>{`${formatDay(day)}: ${formatCount(requests)}`}</title>
                <rect x={index * BAR} y={0} width={BAR} height={HEIGHT} className="fill-transparent hover:fill-hover" />
                <rect
                  x={index * BAR + GAP / 2}
                  y={HEIGHT - height}
                  width={BAR - GAP}
                  height={height}
                  className="pointer-events-none fill-accent"
                />
              </g>
            );
          })}
        </svg>
      </div>
      <div aria-hidden className="flex justify-between text-small text-muted">
        <span>{formatDay(days[0]?.day ?? '')}</span>
        <span>{formatDay(days.at(-1)?.day ?? '')}</span>
      </div>
      <details>
        <summary className="cursor-pointer text-small text-muted">Show as table</summary>
        <DayTable days={days.filter(({ requests }) => requests > 0)} />
      </details>
    </section>
  );
};

const DayTable = ({ days }: { readonly days: readonly DayUsage[] }) => (
  <table className="mt-2 w-full max-w-sm border-collapse">
    <thead>
      <tr className="h-7 border-b border-line text-left text-small text-muted [&>th]:px-2 [&>th]:font-normal">
        <th scope="col">Day (UTC)</th>
        <th scope="col" className="text-right">
          Requests
        </th>
      </tr>
    </thead>
    <tbody>
      {days.map(({ day, requests }) => (
        <tr key={day} className="h-7 border-b border-line [&>td]:px-2">
          <td className="tabular-nums">{day}</td>
          <td className="text-right tabular-nums">{formatCount(requests)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);
