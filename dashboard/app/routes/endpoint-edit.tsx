import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs } from '@remix-run/node';
import { Link, useLoaderData, useNavigation } from '@remix-run/react';
import { useState } from 'react';
import { EndpointForm } from '../endpoints/endpoint-form.tsx';
import { valuesOf } from '../endpoints/endpoint-values.ts';
import { applyDraft, draftOf } from '../endpoints/save-endpoint.server.ts';
import { orFail } from '../lib/failures.server.ts';
import { noticeCookie } from '../lib/flash.ts';
import { desiredOf, manifestYaml } from '../lib/manifest-yaml.server.ts';
import { ownerOf } from '../lib/ownership.ts';
import { endpointParams } from '../lib/params.server.ts';
import { paths } from '../lib/paths.ts';
import { getEndpoint, getProject, projectStatus } from '../lib/resources.server.ts';
import { useAnswer } from '../lib/use-answer.ts';
import { buttonClass } from '../ui/button.tsx';
import { OutdatedNotice } from '../ui/outdated-notice.tsx';

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = endpointParams(params);
  const object = await getEndpoint(backend, names);
  // Read-only: the overview says why.
  if (ownerOf(object) !== undefined) throw redirect(paths.endpoint(names));
  const { url } = projectStatus(await getProject(backend, names));
  return {
    ...{ params: names, projectUrl: url, generation: object.metadata.generation },
    values: valuesOf(names.endpoint, object.spec),
    yaml: manifestYaml(desiredOf(object), backend.mode),
  };
};

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = endpointParams(params);
  const before = await getEndpoint(backend, names);
  const form = await request.formData();
  if (form.get('intent') === 'delete') {
    if (ownerOf(before) !== undefined) throw new Response(null, { status: 403 });
    await orFail(backend.resources.delete({ kind: 'Endpoint', namespace: names.namespace, name: names.endpoint }));
    return redirect(paths.endpoints(names), {
      headers: { 'set-cookie': noticeCookie(`Endpoint ${names.endpoint} was deleted.`) },
    });
  }
  const draft = draftOf(form, names, before);
  const { object, errors, isConflict } = await applyDraft(backend, draft, before, false);
  if (object !== undefined) return redirect(paths.endpoint(names));
  const { values, expected: generation } = draft;
  return data(
    { values, errors, isConflict, generation, yaml: manifestYaml(draft.object, backend.mode) },
    { status: 422 },
  );
};

const EditEndpoint = () => {
  const loaded = useLoaderData<typeof loader>();
  const isSaving = useNavigation().state !== 'idle';
  // What is being edited stays as it is, whatever comes in: saving an older generation is refused, with this said here.
  const [opened, setOpened] = useState(loaded);
  const sent = useAnswer<typeof action>();
  // What was refused of a version that is no longer edited is of no interest.
  const refused = sent?.generation === opened.generation ? sent : undefined;
  const isOutdated = loaded.generation !== opened.generation;
  // The notice says it already, with what to do about it.
  const conflict = isOutdated && refused?.isConflict === true ? refused : undefined;
  const { params } = loaded;
  return (
    <>
      {isOutdated && (
        <OutdatedNotice
          what="endpoint"
          generation={loaded.generation}
          refusal={conflict}
          onTakeTheirs={() => setOpened(loaded)}
        />
      )}
      <EndpointForm
        key={opened.generation}
        values={refused?.values ?? opened.values}
        errors={conflict === undefined ? refused?.errors : undefined}
        yaml={refused?.yaml ?? opened.yaml}
        previewUrl={paths.previewEndpoint(params)}
        projectUrl={loaded.projectUrl}
        existing={{ endpoint: params.endpoint, generation: opened.generation }}
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
