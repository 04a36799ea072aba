import type { LoaderFunctionArgs, MetaFunction } from '@remix-run/node';
import { Link, useLoaderData } from '@remix-run/react';
import { countRangeText, RESOURCES } from '@standin/contract';
import { toExpectationView } from '../../src/expectations/expectation-view.ts';
import { getInProject } from '../../src/resources/in-project.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { TONE_OF_PHASE } from '../expectations/tone-of-phase.ts';
import { paths } from '../paths.ts';
import { useLiveResources } from '../shell/live.ts';
import { usePreferences } from '../shell/preferences.ts';
import { BackLink } from '../ui/back-link.tsx';
import { Badge } from '../ui/badge.tsx';
import { ConditionList } from '../ui/condition-list.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Time } from '../ui/time.tsx';
import { expectationParams } from './params.server.ts';

export const meta: MetaFunction = () => [{ title: 'Expectation · Standin' }];

export const loader = async ({ params, context: { backend, mode } }: LoaderFunctionArgs) => {
  const { expectation: name, ...names } = expectationParams(params);
  const view = toExpectationView(await getInProject(backend, 'Expectation', { ...names, name }));
  const command = `kubectl -n ${names.namespace} wait --for=condition=Decided ${RESOURCES.Expectation.plural}/${name}`;
  return { params: names, view, command: mode === 'local' ? undefined : command };
};

const RequestLink = ({ params, id }: { readonly params: ProjectName; readonly id: string }) => (
  <Link to={paths.exchange({ ...params, id })} className="font-mono break-all text-accent underline">
    {id}
  </Link>
);

const Expectation = () => {
  const { params, view, command } = useLoaderData<typeof loader>();
  const { expectation, generation, search, count, deadline, phase, from, until, matched, message } = view;
  const { requestIds, nearMisses, conditions } = view;
  const { time } = usePreferences();
  useLiveResources(params.namespace);
  return (
    <div className="mx-auto flex w-full max-w-6xl flex-col gap-5 px-4 py-4">
      <div>
        <BackLink to={paths.expectations(params)}>Expectations</BackLink>
        <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1">
          <h1 className="text-h1">Expectation</h1>
          <Badge tone={TONE_OF_PHASE[phase]}>{phase}</Badge>
          <code className="break-all text-muted">{expectation}</code>
        </div>
        <p className="mt-0.5 break-words">
          <Link to={paths.traffic(params, { q: search, from, to: until })} className="text-accent underline">
            {search === '' ? (
              'All requests'
            ) : (
              <code className="break-all">
                <bdi>{search}</bdi>
              </code>
            )}
          </Link>
          : {countRangeText(count)}{' '}
          {from === undefined || until === undefined ? (
            `within ${deadline}`
          ) : (
            <>
              from <Time at={from} zone={time} /> until <Time at={until} zone={time} />
            </>
          )}
        </p>
        <p role="status" className={phase === 'Unmet' ? 'break-words text-5xx' : 'break-words text-muted'}>
          {message}
        </p>
      </div>
      {matched !== undefined && (
        <section aria-labelledby="matching" className="flex flex-col gap-2">
          <h2 id="matching" className="text-h2 tabular-nums">
            {matched.toLocaleString('en')} matching {matched === 1 ? 'request' : 'requests'}
          </h2>
          {requestIds.length > 0 && (
            <ul className="flex flex-col gap-1">
              {requestIds.map((id) => (
                <li key={id}>
                  <RequestLink params={params} id={id} />
                </li>
              ))}
            </ul>
          )}
          {matched > requestIds.length && requestIds.length > 0 && (
            <p className="text-muted">
              Showing {requestIds.length} of {matched.toLocaleString('en')}.
            </p>
          )}
        </section>
      )}
      {nearMisses.length > 0 && (
        <section aria-labelledby="nearest" className="flex flex-col gap-2">
          <h2 id="nearest" className="text-h2">
            Nearest requests
          </h2>
          <ul className="divide-y divide-line rounded-lg border border-line">
            {nearMisses.map(({ requestId, failed }) => (
              <li key={requestId} className="flex flex-col gap-1 px-3 py-2.5">
                <RequestLink params={params} id={requestId} />
                <p className="break-words">
                  <span className="text-muted">Does not meet:</span>{' '}
                  {failed.map((term) => (
                    <code key={term} className="mr-2 break-all text-5xx">
                      <bdi>{term}</bdi>
                    </code>
                  ))}
                </p>
              </li>
            ))}
          </ul>
        </section>
      )}
      {conditions.length > 0 && (
        <section aria-labelledby="conditions" className="flex flex-col gap-2">
          <h2 id="conditions" className="text-h2">
            Conditions
          </h2>
          <ConditionList conditions={conditions} generation={generation} zone={time} />
        </section>
      )}
      {command !== undefined && (
        <p className="flex min-w-0 items-center gap-1 text-muted">
          <code className="truncate">{command}</code>
          <CopyButton text={command} label="Copy command" />
        </p>
      )}
    </div>
  );
};
export default Expectation;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
