import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs } from '@remix-run/node';
import { Link, useLoaderData, useNavigation } from '@remix-run/react';
import { disallowingAccount } from '../../src/accounts/accounts.ts';
import { getProject } from '../../src/projects/projects.ts';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { EndpointForm } from '../endpoints/endpoint-form.tsx';
import { presetOf, toEndpoint, valuesOf } from '../endpoints/endpoint-values.ts';
import { applyDraft, draftOf } from '../endpoints/save-endpoint.server.ts';
import { noticeCookie } from '../ui/flash.ts';
import { desiredOf, manifestYaml, objectYaml } from '../../src/resources/manifest-yaml.ts';
import { ownerOf } from '../../src/resources/ownership.ts';
import { endpointParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { projectStatus } from '../../src/resources/specs.ts';
import { expectedGeneration } from '../ui/save-form.server.ts';
import { useLastActionData } from '../ui/use-last-action-data.ts';
import { useOpened } from '../ui/use-opened.ts';
import { buttonClass } from '../ui/button.tsx';
import { OutdatedNotice } from '../ui/outdated-notice.tsx';

export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = endpointParams(params);
  const object = await getEndpoint(backend, names);
  // A GitOps tool manages the endpoint, so it cannot be edited here. The overview shows the reason.
  if (ownerOf(object) !== undefined) throw redirect(paths.endpoint(names));
  const project = await getProject(backend, names);
  const saved = valuesOf(names.endpoint, object.spec);
  const values = presetOf(saved, new URL(request.url));
  const { metadata, spec } = desiredOf(object);
  return {
    ...{ params: names, projectUrl: projectStatus(project).url, generation: object.metadata.generation, values },
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
  if (form.get('intent') === 'delete') {
    if (ownerOf(before) !== undefined) throw new Response(null, { status: 403 });
    await backend.resources.delete({ kind: 'Endpoint', namespace: names.namespace, name: names.endpoint });
    return redirect(paths.endpoints(names), {
      headers: { 'set-cookie': noticeCookie(`Endpoint ${names.endpoint} was deleted.`) },
    });
  }
  const draft = draftOf(form, names, before);
  const version = { generation: expectedGeneration(form), values: draft.values };
  const changed = { ...version, yaml: manifestYaml(draft.object, backend.mode) };
  if (draft.isListEdit) return { ...changed, errors: undefined, isConflict: false };
  const { object, errors, isConflict } = await applyDraft(backend, draft, before, false);
  if (object !== undefined) return redirect(paths.endpoint(names));
  return data({ ...changed, errors, isConflict }, { status: 422 });
};

const EditEndpoint = () => {
  const loaded = useLoaderData<typeof loader>();
  const isSaving = useNavigation().state !== 'idle';
  const { params, generation, values, yaml } = loaded;
  const version = { generation, values, yaml };
  const { opened, refused, isOutdated, conflict, takeTheirs } = useOpened(version, useLastActionData<typeof action>());
  return (
    <>
      {isOutdated && (
        <OutdatedNotice what="endpoint" generation={generation} refusal={conflict} onTakeTheirs={takeTheirs} />
      )}
      <EndpointForm
        key={opened.generation}
        values={refused?.values ?? opened.values}
        errors={conflict === undefined ? refused?.errors : undefined}
        yaml={refused?.yaml ?? opened.yaml}
        previewUrl={paths.previewEndpoint(params)}
        projectUrl={loaded.projectUrl}
        disallowing={loaded.disallowing}
        existing={{
          endpoint: params.endpoint,
          generation: opened.generation,
          requestsUrl: paths.previewEndpoint(params, { endpoint: params.endpoint }),
        }}
        isSaving={isSaving}
      >
        <Link to={paths.endpoint(params)} className={buttonClass('ghost')}>
          Cancel
        </Link>
      </EndpointForm>
    </>
  );
};
export default EditEndpoint;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
