import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs } from '@remix-run/node';
import { useLoaderData, useNavigation } from '@remix-run/react';
import { orFail } from '../lib/failures.server.ts';
import { noticeCookie } from '../lib/flash.ts';
import { ownerOf, ownershipReason } from '../lib/ownership.ts';
import { projectParams } from '../lib/params.server.ts';
import { paths } from '../lib/paths.ts';
import { getProject, listEndpoints } from '../lib/resources.server.ts';
import { conditionsOf } from '../lib/resource-view.ts';
import { DeleteProject } from '../projects/delete-project.tsx';
import { deleteProject } from '../projects/delete-project.server.ts';
import { ProjectForm } from '../projects/project-form.tsx';
import { projectValuesOf } from '../projects/project-values.ts';
import { saveProject } from '../projects/save-project.server.ts';
import { usePreferences } from '../lib/use-preferences.ts';
import { useAnswer } from '../lib/use-answer.ts';
import { ConditionList } from '../ui/condition-list.tsx';
import { Notice } from '../ui/notice.tsx';

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  const object = await getProject(backend, names);
  const endpoints = await listEndpoints(backend, names);
  return {
    ...names,
    generation: object.metadata.generation,
    owner: ownerOf(object),
    conditions: conditionsOf(object),
    endpointCount: endpoints.length,
    values: projectValuesOf(object),
  };
};

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = projectParams(params);
  const form = await request.formData();
  const before = await getProject(backend, names);
  if (form.get('intent') === 'delete') {
    const refusal = await deleteProject(backend, before, form);
    if (refusal !== undefined) return data({ ok: false as const, deletion: refusal }, { status: 409 });
    return redirect(paths.projects(), {
      headers: { 'set-cookie': noticeCookie(`Project ${names.project} was deleted.`) },
    });
  }
  const result = await orFail(saveProject(backend, form, before));
  if (!result.ok) return data(result, { status: 422 });
  return redirect(paths.settings(names), { headers: { 'set-cookie': noticeCookie('Saved.') } });
};

const GeneralSettings = () => {
  const { owner, values, generation, conditions, endpointCount, project } = useLoaderData<typeof loader>();
  const refused = useAnswer<typeof action>();
  const isSaving = useNavigation().state !== 'idle';
  const { time } = usePreferences();
  const form = refused !== undefined && 'values' in refused ? refused : undefined;
  return (
    <div className="flex flex-col gap-8">
      {owner === undefined ? (
        <ProjectForm
          key={generation}
          values={form?.values ?? values}
          errors={form?.errors}
          accounts={[]}
          existing={{ generation, hasPinnedUri: values['spec.uri'] !== '' }}
          isSaving={isSaving}
        />
      ) : (
        <Notice look="locked">{ownershipReason(owner)}</Notice>
      )}
      <section aria-labelledby="conditions" className="flex flex-col gap-2">
        <h2 id="conditions" className="text-h2">
          Conditions
        </h2>
        <ConditionList conditions={conditions} generation={generation} zone={time} />
      </section>
      {owner === undefined && (
        <DeleteProject
          project={project}
          endpointCount={endpointCount}
          refusal={refused !== undefined && 'deletion' in refused ? refused.deletion : undefined}
        />
      )}
    </div>
  );
};
export default GeneralSettings;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
