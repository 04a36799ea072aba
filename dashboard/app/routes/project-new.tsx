import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { Link, useActionData, useLoaderData, useNavigation } from '@remix-run/react';
import { orFail } from '../lib/failures.server.ts';
import { noticeCookie } from '../lib/flash.ts';
import { useLiveResources } from '../lib/live.ts';
import { paths } from '../lib/paths.ts';
import { ProjectForm } from '../projects/project-form.tsx';
import { saveProject } from '../projects/save-project.server.ts';
import { buttonClass } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';

export const meta: MetaFunction = () => [{ title: 'New project · Standin' }];

export const loader = async ({ context: { backend } }: LoaderFunctionArgs) => {
  const accounts = await orFail(backend.resources.list('Account'));
  return { accounts: accounts.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`) };
};

export const action = async ({ request, context: { backend } }: ActionFunctionArgs) => {
  const result = await saveProject(backend, await request.formData(), undefined);
  if (!result.ok) return data(result, { status: 422 });
  const { namespace, name } = result.object.metadata;
  return redirect(paths.project({ namespace, project: name }), {
    headers: { 'set-cookie': noticeCookie(`Project ${name} was created.`) },
  });
};

const ACCOUNT = `apiVersion: standin.dev/v1alpha1
kind: Account
metadata:
  name: default
spec:
  plan: Free
`;

const NewProject = () => {
  const { accounts } = useLoaderData<typeof loader>();
  useLiveResources();
  const refused = useActionData<typeof action>();
  const isSaving = useNavigation().state !== 'idle';
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <h1 className="mb-4 text-h1">New project</h1>
      {accounts.length === 0 ? (
        <EmptyState
          title="There is no account yet"
          action={<CopyButton text={ACCOUNT} label="Copy an Account manifest" labelled />}
        >
          A project belongs to an account, which owns the API key and the quota. Apply one with kubectl, or put it into
          the directory of manifests, and this page goes on.
        </EmptyState>
      ) : (
        <ProjectForm
          values={
            refused?.values ?? {
              'spec.displayName': '',
              'metadata.name': '',
              'spec.accountRef': accounts[0] ?? '',
              'spec.retentionDays': '',
              'spec.uri': '',
            }
          }
          errors={refused?.errors}
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
