import type { ActionFunctionArgs, LoaderFunctionArgs, MetaFunction } from '@remix-run/node';
import { Link, Outlet, useLoaderData, useNavigate } from '@remix-run/react';
import { Copy, Send } from 'lucide-react';
import { useState } from 'react';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { versionText } from '../../src/expected-version.ts';
import { DeleteEndpoint } from '../endpoints/delete-endpoint.tsx';
import { SendRequest } from '../endpoints/send-request.tsx';
import { toEndpointView } from '../endpoints/endpoint-view.server.ts';
import { useLiveResources } from '../shell/live.ts';
import { managingTool, ownershipReason } from '../../src/resources/ownership.ts';
import { endpointParams } from './params.server.ts';
import { redirectWithNotice } from './redirect-with-notice.server.ts';
import { paths } from '../paths.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { BackLink } from '../ui/back-link.tsx';
import { Button, buttonClass } from '../ui/button.tsx';
import { MethodName } from '../ui/badge.tsx';
import { Notice } from '../ui/notice.tsx';
import { ReadinessBadge } from '../ui/readiness-badge.tsx';
import { expectedVersion } from '../ui/save-form.server.ts';
import { Tabs } from '../ui/tabs.tsx';

export const meta: MetaFunction<typeof loader> = ({ data }) => [
  { title: `${data?.view.title ?? 'Endpoint'} · Standin` },
];

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = endpointParams(params);
  const object = await getEndpoint(backend, names);
  return { params: names, view: toEndpointView(object), version: versionText(object) };
};

/** Deletes the endpoint. */
export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = endpointParams(params);
  const form = await request.formData();
  if (managingTool(await getEndpoint(backend, names)) !== undefined) throw new Response(null, { status: 403 });
  const ref = { kind: 'Endpoint', namespace: names.namespace, name: names.endpoint } as const;
  await backend.resources.delete(ref, expectedVersion(form).uid);
  return redirectWithNotice(paths.endpoints(names), `Endpoint ${names.endpoint} was deleted.`);
};

export { keepSubmitted as clientAction } from '../ui/kept-form.ts';

export { unlessFormEdited as shouldRevalidate } from '../shell/revalidation.ts';

const Endpoint = () => {
  const { params, view, version } = useLoaderData<typeof loader>();
  const { title, method, slug, readiness, owner } = view;
  const navigate = useNavigate();
  const [isSending, setSending] = useState(false);
  useLiveResources(params.namespace);
  useShortcuts([
    { keys: 's', label: 'Send a request', run: () => setSending(true) },
    { keys: 'g o', label: 'Go to endpoint overview', run: () => navigate(paths.endpoint(params)) },
    { keys: 'g y', label: 'Go to endpoint YAML', run: () => navigate(paths.endpointYaml(params)) },
    { keys: 'g c', label: 'Go to endpoint conditions', run: () => navigate(paths.endpointStatus(params)) },
  ]);
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-4">
      <BackLink to={paths.endpoints(params)}>Endpoints</BackLink>
      <div className="mt-1 flex flex-wrap items-start gap-x-3 gap-y-1">
        <div className="min-w-0 flex-1 basis-80">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1 className="min-w-0 text-h1 break-words">{title}</h1>
            <ReadinessBadge readiness={readiness} />
          </div>
          <p className="mt-0.5 flex gap-2 break-all">
            <MethodName method={method} />
            <code>{slug}</code>
          </p>
        </div>
        <div className="-mx-2.5 flex flex-wrap">
          <Button look="ghost" onClick={() => setSending(true)}>
            <Send aria-hidden /> Send
          </Button>
          <Link to={paths.newEndpoint(params, { copyOf: params.endpoint })} className={buttonClass('ghost')}>
            <Copy aria-hidden /> Duplicate
          </Link>
          {owner === undefined && (
            <DeleteEndpoint
              title={title}
              method={method}
              slug={slug}
              version={version}
              action={paths.endpoint(params)}
            />
          )}
        </div>
      </div>
      <div className="mt-2 mb-5 border-b border-line">
        <Tabs
          label="Endpoint"
          tabs={[
            { to: paths.endpoint(params), label: 'Overview', end: true },
            ...(owner === undefined ? [{ to: paths.editEndpoint(params), label: 'Edit' }] : []),
            { to: paths.endpointYaml(params), label: 'YAML' },
            { to: paths.endpointStatus(params), label: 'Conditions' },
          ]}
        />
      </div>
      {owner !== undefined && (
        <div className="mb-4">
          <Notice look="locked">{ownershipReason(owner)}</Notice>
        </div>
      )}
      <SendRequest params={params} method={method} slug={slug} open={isSending} onOpenChange={setSending} />
      <Outlet />
    </div>
  );
};
export default Endpoint;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
