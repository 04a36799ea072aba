import type { EndpointUsage } from '@standin/logstore';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { formatCount } from '../requests/traffic-row.ts';
import type { UsageView } from '../../src/accounts/usage-view.ts';

/** Lists the busiest endpoints. Each name links to its requests. */
export const UsageByEndpoint = ({
  endpoints,
  otherRequests,
  total,
}: Pick<UsageView, 'endpoints' | 'otherRequests' | 'total'>) => (
  <section aria-labelledby="by-endpoint" className="flex flex-col gap-2">
    <h2 id="by-endpoint" className="text-h2">
      By endpoint
    </h2>
    <table className="w-full table-fixed border-collapse">
      <thead>
        <tr className="h-7 border-b border-line text-left text-small text-muted [&>th]:px-2 [&>th]:font-normal">
          <th scope="col">Endpoint</th>
          <th scope="col" className="w-28 text-right">
            Requests
          </th>
          <th scope="col" className="w-[30%] max-sm:hidden">
            Share
          </th>
        </tr>
      </thead>
      <tbody>
        {endpoints.map((row) => (
          <Row key={`${row.projectUid} ${row.endpoint}`} row={row} total={total} />
        ))}
        {otherRequests > 0 && (
          <tr className="h-7 border-b border-line [&>td]:px-2">
            <td className="text-muted">Other endpoints, such as those in projects whose logs you can’t read</td>
            <td className="text-right tabular-nums">{formatCount(otherRequests)}</td>
            <td className="max-sm:hidden">
              <Share requests={otherRequests} total={total} />
            </td>
          </tr>
        )}
      </tbody>
    </table>
  </section>
);

const Row = ({ row, total }: { readonly row: EndpointUsage; readonly total: number }) => {
  const { namespace, project, endpoint, requests } = row;
  return (
    <tr className="relative h-7 border-b border-line hover:bg-hover has-focus-visible:bg-selected [&>td]:px-2">
      <td className="truncate">
        <Link
          to={paths.traffic({ namespace, project }, { q: `endpoint:${endpoint}` })}
          data-row
          className="after:absolute after:inset-0"
        >
          {endpoint} <span className="text-muted">in {project}</span>
        </Link>
      </td>
      <td className="text-right tabular-nums">{formatCount(requests)}</td>
      <td className="max-sm:hidden">
        <Share requests={requests} total={total} />
      </td>
    </tr>
  );
};

const Share = ({ requests, total }: { readonly requests: number; readonly total: number }) => (
  <svg aria-hidden viewBox="0 0 100 1" preserveAspectRatio="none" className="h-1.5 w-full">
    <rect width={(requests / Math.max(1, total)) * 100} height={1} className="fill-accent" />
  </svg>
);
