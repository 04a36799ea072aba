import type { LoaderFunctionArgs } from '@remix-run/node';
import { RESOURCES } from '@standin/contract';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { StatusStrip } from '../endpoints/status-strip.tsx';
import { endpointParams } from './params.server.ts';
import { shownConditions } from '../../src/resources/resource-view.ts';
import { usePreferences } from '../shell/preferences.ts';
import { ConditionList } from '../ui/condition-list.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { useKept } from '../ui/kept-form.ts';
import { EmptyState } from '../ui/empty-state.tsx';

export const loader = async ({ params, context: { backend, mode } }: LoaderFunctionArgs) => {
  const names = endpointParams(params);
  const object = await getEndpoint(backend, names);
  const { plural } = RESOURCES.Endpoint;
  return {
    conditions: shownConditions(object),
    generation: object.metadata.generation,
    command:
      mode === 'local'
        ? undefined
        : `kubectl -n ${names.namespace} wait --for=condition=Ready ${plural}/${names.endpoint}`,
  };
};

export { keepLoaded as clientLoader } from '../ui/kept-form.ts';

const EndpointStatus = () => {
  const { conditions, generation, command } = useKept<typeof loader>().loaded;
  const { time } = usePreferences();
  return (
    <div className="flex flex-col gap-4">
      <StatusStrip conditions={conditions} generation={generation} />
      {conditions.length === 0 ? (
        <EmptyState title="No conditions yet">
          Conditions appear after the operator has processed this endpoint.
        </EmptyState>
      ) : (
        <ConditionList conditions={conditions} generation={generation} zone={time} />
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
export default EndpointStatus;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
