import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { Link, useNavigation } from '@remix-run/react';
import { LIMITS, METHODS, type ResourceObject } from '@standin/contract';
import { slugForPath } from '../../src/endpoints/guess-slug.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { redirectWithNotice } from './redirect-with-notice.server.ts';
import { listEndpoints } from '../../src/endpoints/endpoints.ts';
import { disallowingAccount } from '../../src/accounts/accounts.ts';
import { getProject, projectAddress } from '../../src/projects/projects.ts';
import { EndpointForm } from '../endpoints/endpoint-form.tsx';
import { EMPTY_ENDPOINT, withPreset, toEndpoint, toEndpointValues } from '../endpoints/endpoint-values.ts';
import { applyDraft, copiedBy, readDraft } from '../endpoints/save-endpoint.server.ts';
import { manifestYaml } from '../../src/resources/manifest-yaml.ts';
import { projectParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { useKept } from '../ui/kept-form.ts';
import { useSubmitted } from '../ui/use-last-action-data.ts';
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
    throw redirectWithNotice(
      paths.editEndpoint({ ...names, endpoint: found.taken }),
      `Endpoint ${found.taken} already has this path. You can edit it here.`,
    );
  const displayName = `${method} ${found.slug}`.slice(0, LIMITS.displayNameLengthMax);
  return { ...EMPTY_ENDPOINT, 'spec.displayName': displayName, 'spec.method': method, 'spec.slug': found.slug };
};

/** Returns the values of a copy. Its slug is new, because two endpoints cannot have the same method and slug. */
const copiedValues = (copied: ResourceObject) => {
  const values = toEndpointValues('', copied.spec);
  const { 'spec.displayName': title, 'spec.slug': slug } = values;
  return {
    ...values,
    'spec.displayName': `${title.slice(0, LIMITS.displayNameLengthMax - COPY.length)}${COPY}`,
    'spec.slug': /[/}]$/.test(slug) ? `/copy${slug}` : `${slug}-copy`,
  };
};
const COPY = ' copy';

export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  const project = await getProject(backend, names);
  const endpoints = await listEndpoints(backend, names);
  const url = new URL(request.url);
  const query = url.searchParams;
  const empty = query.has('scheme') ? WEBHOOK : endpoints.length === 0 ? HELLO : EMPTY_ENDPOINT;
  const copied = await copiedBy(backend, names, query);
  const filled =
    copied !== undefined ? copiedValues(copied) : query.has('path') ? valuesForPath(endpoints, names, query) : empty;
  const values = withPreset(filled, url);
  return {
    params: names,
    projectUrl: (await projectAddress(backend, project))?.url,
    values,
    copyOf: copied?.metadata.name,
    disallowing: await disallowingAccount(backend, project),
    yaml: manifestYaml(toEndpoint(values, { ...names, spec: copied?.spec }), backend.mode),
  };
};

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = projectParams(params);
  await getProject(backend, names);
  const form = await request.formData();
  const draft = readDraft(form, names, undefined, await copiedBy(backend, names, form));
  const changed = { values: draft.values, yaml: manifestYaml(draft.object, backend.mode) };
  if (draft.isListEdit) return { ...changed, errors: undefined };
  const { object, errors } = await applyDraft(backend, draft, undefined, false);
  if (object !== undefined) return redirect(paths.endpoint({ ...names, endpoint: object.metadata.name }));
  return data({ ...changed, errors }, { status: 422 });
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

const NewEndpoint = () => {
  const { params, projectUrl, disallowing, values, copyOf, yaml } = useKept<typeof loader>().loaded;
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  const isSaving = useNavigation().state !== 'idle';
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <h1 className="mb-4 text-h1">New endpoint</h1>
      <EndpointForm
        values={refused?.values ?? values}
        errors={refused?.errors}
        unsaved={unsaved}
        isChanged={refused !== undefined}
        yaml={refused?.yaml ?? yaml}
        previewUrl={paths.previewEndpoint(params)}
        projectUrl={projectUrl}
        copyOf={copyOf}
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
