import { paths } from '../paths.ts';
import { Link } from '../remix.ts';
import { Badge } from '../ui/badge.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { ReadinessBadge } from '../ui/readiness-badge.tsx';
import { ownershipReason } from '../../src/resources/ownership.ts';
import type { ProjectView } from './project-view.server.ts';
import { Sparkline } from './sparkline.tsx';

const number = new Intl.NumberFormat('en');

export interface ProjectCardProps {
  readonly project: ProjectView;
  /** True if the log is unavailable. If false, missing request counts mean that the user may not read the log of the project. */
  readonly isLogUnavailable: boolean;
}

const Requests = ({ project: { requests }, isLogUnavailable }: ProjectCardProps) => {
  if (requests === undefined)
    return <span className="text-muted">{isLogUnavailable ? 'log unavailable' : 'no permission'}</span>;
  const total = requests.reduce((sum, count) => sum + count, 0);
  return (
    <span className="flex items-center gap-2">
      <span className="tabular-nums">{number.format(total)}</span>
      <Sparkline
        values={requests}
        label={`${number.format(total)} ${total === 1 ? 'request' : 'requests'} in the last 24 hours`}
      />
    </span>
  );
};

/** Shows a project's URL, the number of ready endpoints, the recent requests, and the quota. */
export const ProjectCard = ({ project, isLogUnavailable }: ProjectCardProps) => {
  const { namespace, title, address, readiness, endpoints, account, plan, quota, owner } = project;
  return (
    <li className="flex min-w-0 flex-col rounded-lg border border-line bg-raised">
      <div className="flex items-start justify-between gap-3 px-4 pt-3">
        <div className="min-w-0">
          <h2 className="truncate text-h2">
            <Link to={paths.project(project)} data-row prefetch="intent" className="rounded hover:underline">
              {title}
            </Link>
          </h2>
          <p className="truncate font-mono text-small text-muted">
            {namespace}/{project.project}
          </p>
        </div>
        <ReadinessBadge readiness={readiness} />
      </div>
      <div className="mx-4 mt-3 flex min-h-8 items-center gap-1 rounded border border-line bg-panel pl-2">
        {address === undefined ? (
          <span className="py-1 text-muted">{readiness.message}</span>
        ) : (
          <>
            <code className="min-w-0 flex-1 truncate" title={address.url}>
              {address.url}
            </code>
            <CopyButton text={address.url} label="Copy project URL" />
          </>
        )}
      </div>
      <dl className="mt-2 flex flex-col gap-1 px-4 pb-3 [&_dt]:shrink-0 [&_dt]:text-muted [&>div]:flex [&>div]:justify-between [&>div]:gap-4">
        <div>
          <dt>Project URI</dt>
          <dd className="flex min-w-0 items-center gap-1">
            <code className="truncate">{address?.uri ?? '–'}</code>
            {address !== undefined && (
              <CopyButton text={address.uri} label="Copy project URI" className="-my-1 -mr-1" />
            )}
          </dd>
        </div>
        <div>
          <dt>Ready endpoints</dt>
          <dd className="tabular-nums">
            {endpoints.ready} of {endpoints.total}
          </dd>
        </div>
        <div>
          <dt>Requests (24 h)</dt>
          <dd>
            <Requests project={project} isLogUnavailable={isLogUnavailable} />
          </dd>
        </div>
        <div>
          <dt>Quota</dt>
          <dd className="min-w-0 text-right break-words">
            {quota === undefined ? (plan === undefined ? '–' : 'No quota') : `${number.format(quota)} per month`}
            <span className="text-muted">
              {' '}
              · {account}
              {plan !== undefined && ` (${plan})`}
            </span>
          </dd>
        </div>
      </dl>
      {owner !== undefined && (
        <p className="border-t border-line px-4 py-2 text-small text-muted" title={ownershipReason(owner)}>
          <Badge tone="3xx">{owner.tool}</Badge> manages this project
        </p>
      )}
    </li>
  );
};
