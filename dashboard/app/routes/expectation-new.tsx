import { data, redirect, type ActionFunctionArgs, type LoaderFunctionArgs, type MetaFunction } from '@remix-run/node';
import { Link, useNavigation } from '@remix-run/react';
import { createExpectation } from '../../src/expectations/expectations.ts';
import { getProject } from '../../src/projects/projects.ts';
import { ExpectationForm } from '../expectations/expectation-form.tsx';
import {
  EXPECTATION_FIELDS,
  newExpectationValues,
  readExpectationValues,
  toNewExpectation,
} from '../expectations/expectation-values.ts';
import { paths } from '../paths.ts';
import { buttonClass } from '../ui/button.tsx';
import { toFormErrors } from '../ui/form-errors.ts';
import { useKept } from '../ui/kept-form.ts';
import { saveForm } from '../ui/save-form.server.ts';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { projectParams } from './params.server.ts';

export const meta: MetaFunction = () => [{ title: 'New expectation · Standin' }];

export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  await getProject(backend, names);
  return { names, values: newExpectationValues(new URL(request.url).searchParams.get('q') ?? '') };
};

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = projectParams(params);
  const values = readExpectationValues(await request.formData());
  const creation = createExpectation(backend, names, toNewExpectation(values, new Date()));
  const { object, errors } = await saveForm(creation, (problems) => toFormErrors(problems, EXPECTATION_FIELDS));
  if (object === undefined) return data({ values, errors }, { status: 422 });
  return redirect(paths.expectation({ ...names, expectation: object.metadata.name }));
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

const NewExpectation = () => {
  const { names, values } = useKept<typeof loader>().loaded;
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  const isSending = useNavigation().formMethod === 'POST';
  return (
    <div className="mx-auto w-full max-w-6xl px-4 py-6">
      <h1 className="mb-4 text-h1">New expectation</h1>
      <ExpectationForm
        values={refused?.values ?? values}
        errors={refused?.errors}
        unsaved={unsaved}
        isSending={isSending}
      >
        <Link to={paths.expectations(names)} className={buttonClass('ghost')}>
          Cancel
        </Link>
      </ExpectationForm>
    </div>
  );
};
export default NewExpectation;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
