import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { Link, useNavigation } from '@remix-run/react';
import { createFirstAccount } from '../../src/accounts/accounts.ts';
import { writeRefusal } from '../../src/pages/failures.ts';
import { redirectWithNotice } from './redirect-with-notice.server.ts';
import { useLiveResources } from '../shell/live.ts';
import { paths } from '../paths.ts';
import { useKept } from '../ui/kept-form.ts';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { FIRST_ACCOUNT, FirstAccount } from '../projects/first-account.tsx';
import { ProjectForm } from '../projects/project-form.tsx';
import { readProjectValues } from '../projects/project-values.ts';
import { saveProject } from '../projects/save-project.server.ts';
import { buttonClass } from '../ui/button.tsx';

export const meta: MetaFunction = () => [{ title: 'New project · Standin' }];

export const loader = async ({ context: { backend, mode } }: LoaderFunctionArgs) => {
  const accounts = await backend.resources.list('Account');
  return { mode, accounts: accounts.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`) };
};

export const action = async ({ request, context: { backend } }: ActionFunctionArgs) => {
  const form = await request.formData();
  if (form.get('intent') === FIRST_ACCOUNT) {
    const problem = await writeRefusal(createFirstAccount(backend));
    return problem === undefined ? redirect(paths.newProject()) : data({ problem }, { status: 422 });
  }
  const values = readProjectValues(form);
  const { object, errors } = await saveProject(backend, values);
  if (object === undefined) return data({ values, errors }, { status: 422 });
  const { namespace, name } = object.metadata;
  return redirectWithNotice(paths.project({ namespace, project: name }), `Project ${name} was created.`);
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

const NewProject = () => {
  const { accounts, mode } = useKept<typeof loader>().loaded;
  useLiveResources();
  const { answer: answered, unsaved } = useSubmitted<typeof action>();
  const refused = answered !== undefined && 'values' in answered ? answered : undefined;
  const isSaving = useNavigation().state !== 'idle';
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <h1 className="mb-4 text-h1">New project</h1>
      {accounts.length === 0 ? (
        <FirstAccount
          mode={mode}
          problem={answered !== undefined && 'problem' in answered ? answered.problem : undefined}
          unsaved={unsaved}
        />
      ) : (
        <ProjectForm
          values={
            refused?.values ?? {
              'spec.displayName': '',
              'metadata.name': '',
              'spec.accountRef': accounts[0] ?? '',
              'spec.retentionDays': '',
              'spec.metrics': '',
              'spec.uri': '',
            }
          }
          errors={refused?.errors}
          unsaved={unsaved}
          isChanged={refused !== undefined}
          accounts={accounts}
          isSaving={isSaving}
        >
          <Link to={paths.projects()} className={buttonClass('ghost')}>
            Cancel
          </Link>
        </ProjectForm>
      )}
    </div>
  );
};
export default NewProject;
