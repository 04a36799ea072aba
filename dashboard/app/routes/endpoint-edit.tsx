import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs } from '@remix-run/node';
import { Link, useNavigation } from '@remix-run/react';
import { disallowingAccount } from '../../src/accounts/accounts.ts';
import { versionText } from '../../src/expected-version.ts';
import { getProject, projectAddress } from '../../src/projects/projects.ts';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { EndpointForm } from '../endpoints/endpoint-form.tsx';
import { withPreset, toEndpoint, toEndpointValues } from '../endpoints/endpoint-values.ts';
import { manifestPath, mergeEndpoint } from '../endpoints/merge-endpoint.ts';
import { applyDraft, readDraft } from '../endpoints/save-endpoint.server.ts';
import { toDesired, manifestYaml, objectYaml } from '../../src/resources/manifest-yaml.ts';
import { managingTool } from '../../src/resources/ownership.ts';
import { endpointParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { submittedVersion } from '../ui/save-form.server.ts';
import { useKept } from '../ui/kept-form.ts';
import { OpenedForm } from '../ui/opened-form.tsx';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { useOpened } from '../ui/use-opened.ts';
import { buttonClass } from '../ui/button.tsx';

export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = endpointParams(params);
  const object = await getEndpoint(backend, names);
  // A GitOps tool manages the endpoint, so it cannot be edited here. The overview shows the reason.
  if (managingTool(object) !== undefined) throw redirect(paths.endpoint(names));
  const project = await getProject(backend, names);
  const saved = toEndpointValues(names.endpoint, object.spec);
  const values = withPreset(saved, new URL(request.url));
  const { metadata, spec } = toDesired(object);
  return {
    params: names,
    projectUrl: (await projectAddress(backend, project))?.url,
    values,
    generation: object.metadata.generation,
    version: versionText(object),
    disallowing: await disallowingAccount(backend, project),
    yaml:
      values === saved
        ? objectYaml(object, backend.mode)
        : manifestYaml(toEndpoint(values, { ...names, metadata, spec }), backend.mode),
  };
};

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = endpointParams(params);
  const before = await getEndpoint(backend, names);
  const form = await request.formData();
  const draft = readDraft(form, names, before);
  const changed = {
    version: submittedVersion(form),
    values: draft.values,
    yaml: manifestYaml(draft.object, backend.mode),
  };
  if (draft.isListEdit) return { ...changed, errors: undefined, isConflict: false };
  const { object, errors, isConflict } = await applyDraft(backend, draft, before, false);
  if (object !== undefined) return redirect(paths.endpoint(names));
  return data({ ...changed, errors, isConflict }, { status: 422 });
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

const EditEndpoint = () => {
  const { loaded, lost } = useKept<typeof loader>();
  const { answer, unsaved } = useSubmitted<typeof action>();
  const isSaving = useNavigation().state !== 'idle';
  const { params, generation, version, values, yaml } = loaded;
  const state = useOpened({ version, values, yaml }, answer, mergeEndpoint);
  const { opened, refused, conflict } = state;
  return (
    <OpenedForm what="endpoint" generation={generation} state={state} lost={lost} pathLabel={manifestPath}>
      <EndpointForm
        key={state.key}
        values={refused?.values ?? opened.values}
        errors={conflict === undefined ? refused?.errors : undefined}
        unsaved={unsaved}
        isChanged={state.isChanged}
        yaml={refused?.yaml ?? opened.yaml}
        previewUrl={paths.previewEndpoint(params)}
        projectUrl={loaded.projectUrl}
        disallowing={loaded.disallowing}
        existing={{
          endpoint: params.endpoint,
          version: opened.version,
          requestsUrl: paths.previewEndpoint(params, { endpoint: params.endpoint }),
        }}
        isSaving={isSaving}
      >
        <Link to={paths.endpoint(params)} className={buttonClass('ghost')}>
          Cancel
        </Link>
      </EndpointForm>
    </OpenedForm>
  );
};
export default EditEndpoint;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
