import { listText } from '@standin/contract';
import { Notice } from '../ui/notice.tsx';
import type { LoadedUsage } from '../../src/accounts/load-usage.ts';
import { formatBytes } from '../requests/traffic-row.ts';
import { UsageByDay } from './usage-by-day.tsx';
import { UsageByEndpoint } from './usage-by-endpoint.tsx';
import type { UsageView } from '../../src/accounts/usage-view.ts';

type Forgetful = Pick<LoadedUsage, 'forgetful'>;

/** Shows usage by day and by endpoint, which is only available from the log. */
export const UsageInLog = ({ usage, forgetful }: Forgetful & { readonly usage: UsageView }) => {
  if (usage.logFailure !== undefined) {
    return (
      <Notice look="bad" alert>
        Usage by day and by endpoint is unavailable. {usage.logFailure} The total is still exact, because the operator
        counts accepted requests separately. Reload the page in a few seconds.
      </Notice>
    );
  }
  return (
    <>
      {usage.isExact && <Forgotten forgetful={forgetful} what="Usage by day and by endpoint is calculated" />}
      <UsageByDay days={usage.days} />
      {usage.total > 0 && <UsageByEndpoint {...usage} />}
      {usage.storedBytes !== undefined && (
        <p className="text-small text-muted">
          The log keeps {formatBytes(usage.storedBytes)} of bodies for this account, before compression. Requests of
          earlier months count too, until they expire.
        </p>
      )}
    </>
  );
};

/** Lists projects that keep requests for less time than has passed this month. */
export const Forgotten = ({ forgetful, what }: Forgetful & { readonly what: string }) => {
  if (forgetful.length === 0) return null;
  const projects = forgetful.map(
    ({ project, retentionDays }) =>
      `${project} keeps requests for ${retentionDays === 1 ? 'one day' : `${retentionDays} days`}`,
  );
  return (
    <Notice look="info">
      {what} from the log, so expired requests are missing: {listText(projects)}.
    </Notice>
  );
};
