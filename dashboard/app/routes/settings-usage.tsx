import type { LoaderFunctionArgs } from '@remix-run/node';
import { useLoaderData } from '@remix-run/react';
import { projectParams } from './params.server.ts';
import { accountSpec, accountStatus } from '../../src/resources/specs.ts';
import { useRowKeys } from '../shell/shortcuts.ts';
import { projectAccount } from '../../src/accounts/accounts.ts';
import { Notice } from '../ui/notice.tsx';
import { formatDay, formatMonth } from '../usage/format-day.ts';
import { loadUsage } from '../../src/accounts/load-usage.ts';
import { QuotaBar } from '../usage/quota-bar.tsx';
import { Forgotten, UsageInLog } from '../usage/usage-in-log.tsx';
import { formatCount } from '../requests/traffic-row.ts';

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const account = await projectAccount(backend, projectParams(params));
  const { name, namespace } = account.metadata;
  return {
    account: `${namespace}/${name}`,
    plan: accountSpec(account).plan,
    requestsPerSecond: accountStatus(account).requestsPerSecond,
    ...(await loadUsage(backend, account, new Date())),
  };
};

const Usage = () => {
  const { account, plan, requestsPerSecond, usage, refusal, quota, forgetful } = useLoaderData<typeof loader>();
  useRowKeys();
  return (
    <div className="flex flex-col gap-6">
      <div>
        <h2 className="text-h2">{usage === undefined ? 'This month' : formatMonth(usage.month)}</h2>
        <p className="text-small text-muted">
          Account {account}
          {plan !== undefined && `, ${plan} plan`}. Months and days start at midnight UTC.
        </p>
      </div>
      {refusal !== undefined && (
        <Notice look="bad" alert>
          Can’t count this month’s requests. {refusal}
          {quota !== undefined && ` The quota is ${formatCount(quota)} per month.`}
        </Notice>
      )}
      {usage?.isExact === false && <Forgotten forgetful={forgetful} what="The total is calculated" />}
      {usage !== undefined && (
        <>
          <QuotaBar {...usage} />
          <p className="text-small text-muted">
            Only accepted requests are counted.{' '}
            {quota === undefined
              ? 'No quota: requests are unlimited.'
              : quota === 0
                ? 'The quota is 0: all requests are rejected with 429.'
                : `After ${formatCount(quota)}, further requests are rejected with 429 until ${formatDay(usage.resetsOn)}.`}
            {requestsPerSecond !== undefined &&
              ` Each gateway accepts at most ${formatCount(requestsPerSecond)} requests per second.`}
          </p>
          <UsageInLog usage={usage} forgetful={forgetful} />
        </>
      )}
    </div>
  );
};
export default Usage;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
