import { data, type ActionFunctionArgs, type LoaderFunctionArgs } from '@remix-run/node';
import { useLocation, useNavigation } from '@remix-run/react';
import { useState } from 'react';
import type { ResourceObject } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { versionText } from '../../src/expected-version.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { listEndpoints } from '../../src/endpoints/endpoints.ts';
import { deleteProject, getProject } from '../../src/projects/projects.ts';
import { redirectWithNotice } from './redirect-with-notice.server.ts';
import { useLiveResources } from '../shell/live.ts';
import { managingTool, ownershipReason } from '../../src/resources/ownership.ts';
import { projectParams } from './params.server.ts';
import { paths } from '../paths.ts';
import { shownConditions } from '../../src/resources/resource-view.ts';
import { DeleteProject } from '../projects/delete-project.tsx';
import { ProjectForm } from '../projects/project-form.tsx';
import { toProjectValues, readProjectValues } from '../projects/project-values.ts';
import { saveProject } from '../projects/save-project.server.ts';
import { expectedVersion, submittedVersion } from '../ui/save-form.server.ts';
import { usePreferences } from '../shell/preferences.ts';
import { useKept, type Unsaved } from '../ui/kept-form.ts';
import { OpenedForm } from '../ui/opened-form.tsx';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { useOpened } from '../ui/use-opened.ts';
import { ConditionList } from '../ui/condition-list.tsx';
import { Notice } from '../ui/notice.tsx';

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  const object = await getProject(backend, names);
  const endpoints = await listEndpoints(backend, names);
  return {
    ...names,
    generation: object.metadata.generation,
    version: versionText(object),
    owner: managingTool(object),
    conditions: shownConditions(object),
    endpointCount: endpoints.length,
    values: toProjectValues(object),
  };
};

const refusalToDelete = async (backend: Backend, project: ResourceObject, form: FormData) => {
  const { name, uid } = project.metadata;
  if (expectedVersion(form).uid !== uid)
    return `${name} was deleted and created again. Reload this page to see the new project.`;
  if (managingTool(project) === undefined && form.get('confirmation') !== name) return `Type ${name} to confirm.`;
  return deleteProject(backend, project, { withEndpoints: form.get('endpoints') === 'on' }).catch(refusalMessage);
};

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = projectParams(params);
  const form = await request.formData();
  const before = await getProject(backend, names);
  if (form.get('intent') === 'delete') {
    const refusal = await refusalToDelete(backend, before, form);
    if (refusal !== undefined) return data({ deletion: refusal }, { status: 409 });
    return redirectWithNotice(paths.projects(), `Project ${names.project} was deleted.`);
  }
  const sent = { values: readProjectValues(form), version: submittedVersion(form) };
  const { object, errors, isConflict } = await saveProject(backend, sent.values, {
    before,
    expected: expectedVersion(form),
  });
  if (object === undefined) return data({ ...sent, errors, isConflict }, { status: 422 });
  return redirectWithNotice(paths.settings(names), 'Saved.');
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

interface EditProjectProps {
  readonly loaded: Pick<Awaited<ReturnType<typeof loader>>, 'generation' | 'version' | 'values'>;
  readonly lost: string | undefined;
  readonly sent: Extract<ReturnType<typeof useSubmitted<typeof action>>['answer'], { values: unknown }> | undefined;
  readonly unsaved: Unsaved | undefined;
}

const EditProject = ({ loaded, lost, sent, unsaved }: EditProjectProps) => {
  const isSaving = useNavigation().state !== 'idle';
  const { version, values } = loaded;
  const state = useOpened({ version, values }, sent);
  const { opened, refused, conflict } = state;
  return (
    <div>
      <OpenedForm what="project" generation={loaded.generation} state={state} lost={lost}>
        <ProjectForm
          key={state.key}
          values={opened.values}
          errors={conflict === undefined ? refused?.errors : undefined}
          unsaved={unsaved}
          isChanged={state.isChanged}
          accounts={[]}
          existing={{ version: opened.version, hasPinnedUri: loaded.values['spec.uri'] !== '' }}
          isSaving={isSaving}
        />
      </OpenedForm>
    </div>
  );
};

const GeneralSettings = () => {
  const { loaded, lost } = useKept<typeof loader>();
  const { owner, namespace, generation, conditions, endpointCount, project } = loaded;
  useLiveResources(namespace);
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  const { key } = useLocation();
  const [formKey, setFormKey] = useState(key);
  if (key !== formKey && refused === undefined && unsaved === undefined) setFormKey(key);
  const { time } = usePreferences();
  return (
    <div className="flex flex-col gap-8">
      {owner === undefined ? (
        // After a save, a new form opens with the saved version. A save that is rejected or fails leaves the form as it is.
        <EditProject
          key={formKey}
          loaded={loaded}
          lost={lost}
          unsaved={unsaved}
          sent={refused !== undefined && 'values' in refused ? refused : undefined}
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
          version={loaded.version}
          endpointCount={endpointCount}
          hasPinnedUri={loaded.values['spec.uri'] !== ''}
        />
      )}
    </div>
  );
};
export default GeneralSettings;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
