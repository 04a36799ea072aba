import { data, type ActionFunctionArgs, type LoaderFunctionArgs } from '@remix-run/node';
import { useNavigation } from '@remix-run/react';
import { useState } from 'react';
import { SourceError } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { getProject } from '../../src/projects/projects.ts';
import { toPurgeView } from '../../src/purges/purge-view.ts';
import { createPurge } from '../../src/purges/purges.ts';
import { listInProject } from '../../src/resources/in-project.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { planPurge } from '../purges/plan-purge.server.ts';
import { PurgeForm } from '../purges/purge-form.tsx';
import { PurgeList } from '../purges/purge-list.tsx';
import { PurgePlan } from '../purges/purge-plan.tsx';
import { isEmpty, readPurgeValues, toNewPurge } from '../purges/purge-values.ts';
import { useLiveResources } from '../shell/live.ts';
import { usePreferences } from '../shell/preferences.ts';
import { redirectWithNotice } from './redirect-with-notice.server.ts';
import { toFormErrors } from '../ui/form-errors.ts';
import { EditedForm } from '../ui/edited-form.tsx';
import { LostNotice } from '../ui/error-summary.tsx';
import { useKept } from '../ui/kept-form.ts';
import { Notice } from '../ui/notice.tsx';
import { saveForm } from '../ui/save-form.server.ts';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { projectParams } from './params.server.ts';

/** The maximum number of rows, so that the page renders without a noticeable delay. */
const ROWS_MAX = 200;

/**
 * Lists the purges. Returns undefined if the user may not list them. Users who may create purges are not necessarily allowed to
 * list them.
 */
const readPurges = async (backend: Backend, names: ProjectName) => {
  try {
    const all = await listInProject(backend, 'Purge', names);
    return { total: all.length, shown: all.slice(0, ROWS_MAX).map(toPurgeView) };
  } catch (error) {
    if (!(error instanceof SourceError && error.kind === 'Forbidden')) throw error;
    return undefined;
  }
};

export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  await getProject(backend, names);
  const values = readPurgeValues(new URL(request.url).searchParams, new Date());
  const [purges, planned] = await Promise.all([readPurges(backend, names), planPurge(backend, names, values)]);
  return { names, values, purges, planned };
};

/**
 * The name of the field for the reason. It is the path in the object, so that the path in a validation error identifies the field.
 */
const REASON = 'spec.reason';

export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = projectParams(params);
  const form = await request.formData();
  const given = form.get(REASON);
  const reason = typeof given === 'string' ? given.trim() : '';
  const fields = {
    ...(reason === '' && { [REASON]: ['Enter a reason.'] }),
    ...(form.get('confirmation') !== names.project && { confirmation: [`Type ${names.project} to confirm.`] }),
  };
  if (Object.keys(fields).length > 0) return data({ reason, errors: { fields, form: [] } }, { status: 422 });
  const now = new Date();
  const purge = toNewPurge(readPurgeValues(form, now), reason, now);
  const { object, errors } = await saveForm(createPurge(backend, names, purge), (problems) =>
    toFormErrors(problems, [REASON]),
  );
  if (object === undefined) return data({ reason, errors }, { status: 422 });
  return redirectWithNotice(paths.purges(names), `Purge ${object.metadata.name} was created.`);
};

export { keepLoaded as clientLoader, keepSubmitted as clientAction } from '../ui/kept-form.ts';

const Explanation = () => (
  <div className="flex flex-col gap-1 text-muted">
    <p>
      A purge deletes captured requests and the results of their replays permanently from all replicas of the log. This
      can’t be undone. Requests that are received after you create the purge are kept.
    </p>
    <p>Backups, exports, and copies that people made are not deleted.</p>
  </div>
);

type Loaded = ReturnType<typeof useKept<typeof loader>>['loaded'];

/** The forms for a new purge. The reason outlives the plan, which is hidden while the selection is invalid. */
const NewPurge = ({ names, values, planned }: Pick<Loaded, 'names' | 'values' | 'planned'>) => {
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  const { time } = usePreferences();
  const isSending = useNavigation().formMethod === 'POST';
  const [reason, setReason] = useState(refused?.reason ?? '');
  return (
    <>
      {/* Nothing is selected after a purge was created. */}
      <EditedForm isEdited={reason !== '' && planned.kind !== 'empty'} />
      <PurgeForm values={values} errors={planned.kind === 'invalid' ? planned.errors : undefined} />
      {planned.kind === 'plan' && (
        <PurgePlan
          params={names}
          values={values}
          matching={planned.matching}
          reason={reason}
          onReason={setReason}
          errors={refused?.errors}
          unsaved={unsaved}
          isSending={isSending}
          zone={time}
        />
      )}
    </>
  );
};

const Purges = () => {
  const { loaded, lost } = useKept<typeof loader>();
  const { names, values, purges, planned } = loaded;
  const { time } = usePreferences();
  const newest = purges?.shown[0]?.uid;
  const [formKey, setFormKey] = useState(newest);
  // After a purge is created, the form is empty. A purge that someone else creates leaves an edited form as it is.
  if (newest !== formKey && isEmpty(values)) setFormKey(newest);
  useLiveResources(names.namespace);
  return (
    <div className="flex flex-col gap-8">
      <section aria-labelledby="new-purge" className="flex flex-col gap-4">
        <h2 id="new-purge" className="text-h2">
          Delete captured requests
        </h2>
        <Explanation />
        <LostNotice lost={lost} what="preview" />
        {planned.kind === 'forbidden' ? (
          <Notice look="locked">
            To delete requests, you need permission to <code>create</code> <code>mockpurges</code> in namespace{' '}
            <code>{names.namespace}</code>. Of Standin’s ClusterRoles, only the one whose name ends in{' '}
            <code>-purge</code> grants this permission. The API server reports: {planned.message}
          </Notice>
        ) : (
          <NewPurge key={formKey} names={names} values={values} planned={planned} />
        )}
      </section>
      <section aria-labelledby="purges" className="flex flex-col gap-2">
        <h2 id="purges" className="text-h2">
          Purges
        </h2>
        {purges === undefined ? (
          <Notice look="locked">
            To see purges, you need permission to <code>list</code> <code>mockpurges</code> in namespace{' '}
            <code>{names.namespace}</code>.
          </Notice>
        ) : purges.total === 0 ? (
          <p className="text-muted">No purges yet. Each purge stays here as a record of what was deleted, and why.</p>
        ) : (
          <PurgeList purges={purges.shown} zone={time} />
        )}
        {purges !== undefined && purges.total > purges.shown.length && (
          <p className="text-muted">
            Showing the newest {purges.shown.length} of {purges.total}.
          </p>
        )}
      </section>
    </div>
  );
};
export default Purges;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
