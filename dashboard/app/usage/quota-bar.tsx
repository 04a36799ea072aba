import { formatCount } from '../requests/traffic-row.ts';
import { formatDay } from './format-day.ts';
import type { UsageView } from '../../src/accounts/usage-view.ts';

/** Shows how much of the quota is used, in words and as a bar. */
export const QuotaBar = ({ used, quota, usedUpOn }: Pick<UsageView, 'used' | 'quota' | 'usedUpOn'>) => {
  const percent = quota === undefined || quota === 0 ? undefined : (used / quota) * 100;
  return (
    <div className="flex flex-col gap-2">
      <p className="flex flex-wrap items-baseline gap-x-2">
        <span className="text-h1 tabular-nums">{formatCount(used)}</span>
        <span className="text-muted">
          {quota === undefined ? 'accepted requests' : `of ${formatCount(quota)} accepted requests`}
        </span>
        {percent !== undefined && <span className="ml-auto text-muted tabular-nums">{formatPercent(percent)}</span>}
      </p>
      {percent !== undefined && (
        <svg aria-hidden viewBox="0 0 100 1" preserveAspectRatio="none" className="h-2 w-full rounded-full">
          <rect width={100} height={1} className="fill-line" />
          <rect width={Math.min(100, percent)} height={1} className={percent < 100 ? 'fill-accent' : 'fill-5xx'} />
        </svg>
      )}
      {usedUpOn !== undefined && (
        <p className="text-small text-muted">
          At this month’s rate, the quota will be used up on {formatDay(usedUpOn)}.
        </p>
      )}
    </div>
  );
};

const formatPercent = (percent: number): string =>
  percent > 0 && percent < 0.1 ? '< 0.1 %' : `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
