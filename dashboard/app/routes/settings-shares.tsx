import { data, type ActionFunctionArgs, type LoaderFunctionArgs } from '@remix-run/node';
import { Link, useLoaderData } from '@remix-run/react';
import { getProject } from '../../src/projects/projects.ts';
import { isSharingInPlan } from '../../src/shares/create-share.ts';
import { listShares, revokeShare } from '../../src/shares/list-shares.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { redirectWithNotice } from './redirect-with-notice.server.ts';
import { useLiveResources } from '../shell/live.ts';
import { projectParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { useRowKeys } from '../shell/shortcuts.ts';
import { NotDone } from '../ui/error-summary.tsx';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { ShareTable } from '../shares/share-table.tsx';
import { buttonClass } from '../ui/button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Notice } from '../ui/notice.tsx';

/** The maximum number of rows, so that the page renders without a noticeable delay. */
const ROWS_MAX = 200;

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  const project = await getProject(backend, names);
  const all = await listShares(backend.resources, names);
  return {
    names,
    isInPlan: await isSharingInPlan(backend, project),
    total: all.length,
    shares: all.slice(0, ROWS_MAX),
  };
};

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = projectParams(params);
  const form = await request.formData();
  const share = form.get('share');
  try {
    // Also succeeds if the link no longer exists, because then it no longer works.
    await revokeShare(backend.resources, names, typeof share === 'string' ? share : '');
  } catch (error) {
    return data({ refusal: refusalMessage(error) }, { status: 409 });
  }
  return redirectWithNotice(paths.shares(names), form.get('intent') === 'remove' ? 'Link removed.' : 'Link revoked.');
};

export { keepSubmitted as clientAction } from '../ui/kept-form.ts';

const Shares = () => {
  const { names, isInPlan, total, shares } = useLoaderData<typeof loader>();
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  useLiveResources(names.namespace);
  useRowKeys();
  return (
    <div className="flex flex-col gap-4">
      {isInPlan === false && (
        <Notice look="locked">
          Sharing requires the Pro plan. This project’s account is on the Free plan. Existing links don’t work, and you
          can’t create links until an administrator sets <code>spec.plan: Pro</code> in the Account.
        </Notice>
      )}
      <NotDone unsaved={unsaved} done="revoked" />
      {refused !== undefined && <Notice look="bad">{refused.refusal}</Notice>}
      {shares.length === 0 ? (
        <EmptyState
          title="No links yet"
          action={
            <Link to={paths.traffic(names)} className={buttonClass('primary')}>
              Go to Traffic
            </Link>
          }
        >
          A link shows one captured request to anyone who has the link, without signing in. To create one, open a
          request and choose <b>Share</b>.
        </EmptyState>
      ) : (
        <>
          <ShareTable params={names} shares={shares} />
          {total > shares.length && (
            <p className="text-muted">
              Showing the newest {shares.length} of {total}.
            </p>
          )}
        </>
      )}
    </div>
  );
};
export default Shares;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
