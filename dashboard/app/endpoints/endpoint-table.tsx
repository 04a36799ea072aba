import { Lock } from 'lucide-react';
import type { ProjectName } from '../../src/resources/names.ts';
import { classNames } from '../ui/class-names.ts';
import { ownershipReason } from '../../src/resources/ownership.ts';
import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { MethodName, StatusBadge } from '../ui/badge.tsx';
import { ReadinessBadge } from '../ui/readiness-badge.tsx';
import type { EndpointView } from './endpoint-view.server.ts';

const Answer = ({ answer }: Pick<EndpointView, 'answer'>) =>
  answer.kind === 'mock' ? (
    <StatusBadge status={answer.status} />
  ) : (
    <code className="truncate text-muted" title={answer.to}>
      → {answer.to}
    </code>
  );

export interface EndpointTableProps {
  readonly params: ProjectName;
  readonly endpoints: readonly EndpointView[];
}

/**
 * Lists endpoints in rows of 28 px. On a phone, each row has two lines, and a third one for the upstream of a forwarding endpoint.
 */
export const EndpointTable = ({ params, endpoints }: EndpointTableProps) => (
  <table className="w-full table-fixed border-collapse max-sm:block">
    <thead className="max-sm:sr-only">
      <tr className="h-7 border-b border-line text-left text-small text-muted [&>th]:px-2 [&>th]:font-normal">
        <th className="w-18">Method</th>
        <th>Path</th>
        <th className="w-[22%]">Name</th>
        <th className="w-[28%]">Response</th>
        <th className="w-32">State</th>
      </tr>
    </thead>
    <tbody className="max-sm:block">
      {endpoints.map((view) => {
        const { endpoint, method, slug, title, answer, readiness, owner } = view;
        return (
          <tr
            key={endpoint}
            className="relative h-7 border-b border-line hover:bg-hover has-focus-visible:bg-selected max-sm:grid max-sm:h-auto max-sm:grid-cols-[4rem_minmax(0,1fr)_auto] max-sm:py-1.5 [&>td]:px-2"
          >
            <td>
              <MethodName method={method} />
            </td>
            <td className="truncate">
              <Link
                to={paths.endpoint({ ...params, endpoint })}
                prefetch="intent"
                data-row
                className="font-mono text-small after:absolute after:inset-0"
                title={slug}
              >
                {slug}
              </Link>
            </td>
            <td className="truncate max-sm:order-4 max-sm:col-start-2 max-sm:text-muted">{title}</td>
            <td
              className={classNames(
                'truncate max-sm:order-5',
                answer.kind === 'mock' ? 'max-sm:text-right' : 'max-sm:col-span-2 max-sm:col-start-2',
              )}
            >
              <Answer answer={answer} />
            </td>
            <td className="max-sm:order-3 max-sm:text-right">
              <span className="inline-flex items-center gap-1 align-middle">
                <ReadinessBadge readiness={readiness} />
                {owner !== undefined && (
                  <span title={ownershipReason(owner)}>
                    <Lock aria-hidden className="size-3 text-muted" />
                    <span className="sr-only">managed by {owner.tool}</span>
                  </span>
                )}
              </span>
            </td>
          </tr>
        );
      })}
    </tbody>
  </table>
);
