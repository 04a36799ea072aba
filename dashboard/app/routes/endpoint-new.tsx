import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { Link, useLoaderData, useNavigation } from '@remix-run/react';
import { LIMITS, METHODS, type ResourceObject } from '@standin/contract';
import { slugForPath } from '../../src/endpoints/guess-slug.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { noticeCookie } from '../ui/flash.ts';
import { listEndpoints } from '../../src/endpoints/endpoints.ts';
import { disallowingAccount } from '../../src/accounts/accounts.ts';
import { getProject } from '../../src/projects/projects.ts';
import { EndpointForm } from '../endpoints/endpoint-form.tsx';
import { EMPTY_ENDPOINT, presetOf, toEndpoint } from '../endpoints/endpoint-values.ts';
import { applyDraft, draftOf } from '../endpoints/save-endpoint.server.ts';
import { manifestYaml } from '../../src/resources/manifest-yaml.ts';
import { projectParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { projectStatus } from '../../src/resources/specs.ts';
import { useLastActionData } from '../ui/use-last-action-data.ts';
import { buttonClass } from '../ui/button.tsx';

export const meta: MetaFunction = () => [{ title: 'New endpoint · Standin' }];

/** The initial values for a project's first endpoint, so that one click creates an endpoint to call. */
const HELLO = { ...EMPTY_ENDPOINT, 'spec.displayName': 'Hello', 'spec.slug': '/hello' };

/** The initial values for an endpoint that accepts signatures. */
const WEBHOOK = { ...EMPTY_ENDPOINT, 'spec.method': 'POST' };

/** Returns the values for a captured request's path. Redirects to the endpoint that has exactly this path, if there is one. */
const valuesForPath = (endpoints: readonly ResourceObject[], names: ProjectName, query: URLSearchParams) => {
  const method = METHODS.find((known) => known === query.get('method')) ?? METHODS[0];
  const found = slugForPath(endpoints, method, query.get('path') ?? '/');
  if ('taken' in found)
    throw redirect(paths.editEndpoint({ ...names, endpoint: found.taken }), {
      headers: { 'set-cookie': noticeCookie(`Endpoint ${found.taken} already has this path. You can edit it here.`) },
    });
  const displayName = `${method} ${found.slug}`.slice(0, LIMITS.displayNameLengthMax);
  return { ...EMPTY_ENDPOINT, 'spec.displayName': displayName, 'spec.method': method, 'spec.slug': found.slug };
};

export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  const project = await getProject(backend, names);
  const endpoints = await listEndpoints(backend, names);
  const url = new URL(request.url);
  const empty = url.searchParams.has('scheme') ? WEBHOOK : endpoints.length === 0 ? HELLO : EMPTY_ENDPOINT;
  const values = presetOf(
    url.searchParams.has('path') ? valuesForPath(endpoints, names, url.searchParams) : empty,
    url,
  );
  return {
    ...{ params: names, projectUrl: projectStatus(project).url, values },
    disallowing: await disallowingAccount(backend, project),
    yaml: manifestYaml(toEndpoint(values, names), backend.mode),
  };
};

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = projectParams(params);
  await getProject(backend, names);
  const draft = draftOf(await request.formData(), names, undefined);
  const changed = { values: draft.values, yaml: manifestYaml(draft.object, backend.mode) };
  if (draft.isListEdit) return { ...changed, errors: undefined };
  const { object, errors } = await applyDraft(backend, draft, undefined, false);
  if (object !== undefined) return redirect(paths.endpoint({ ...names, endpoint: object.metadata.name }));
  return data({ ...changed, errors }, { status: 422 });
};

const NewEndpoint = () => {
  const { params, projectUrl, disallowing, values, yaml } = useLoaderData<typeof loader>();
  const refused = useLastActionData<typeof action>();
  const isSaving = useNavigation().state !== 'idle';
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <h1 className="mb-4 text-h1">New endpoint</h1>
      <EndpointForm
        values={refused?.values ?? values}
        errors={refused?.errors}
        yaml={refused?.yaml ?? yaml}
        previewUrl={paths.previewEndpoint(params)}
        projectUrl={projectUrl}
        disallowing={disallowing}
        isSaving={isSaving}
      >
        <Link to={paths.endpoints(params)} className={buttonClass('ghost')}>
          Cancel
        </Link>
      </EndpointForm>
    </div>
  );
};
export default NewEndpoint;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
