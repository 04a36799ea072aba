import type { LoaderFunctionArgs } from '@remix-run/node';
import { endpointUrl, getEndpoint } from '../../src/endpoints/endpoints.ts';
import { getProject, projectAddress } from '../../src/projects/projects.ts';
import { EndpointResponses } from '../endpoints/endpoint-responses.tsx';
import { EndpointActivitySection } from '../endpoints/endpoint-activity.tsx';
import { loadActivity } from '../endpoints/endpoint-activity.server.ts';
import { delayText, toDelayValues } from '../endpoints/delay-values.ts';
import { toResponseValues } from '../endpoints/response-values.ts';
import { toEndpointView } from '../endpoints/endpoint-view.server.ts';
import { StatusStrip } from '../endpoints/status-strip.tsx';
import { TryIt } from '../endpoints/try-it.tsx';
import { endpointParams } from './params.server.ts';
import { endpointSpec } from '../../src/resources/specs.ts';
import { shownConditions } from '../../src/resources/resource-view.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { useKept } from '../ui/kept-form.ts';

export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = endpointParams(params);
  const object = await getEndpoint(backend, names);
  const spec = endpointSpec(object);
  const { json, forward } = spec;
  const address = await projectAddress(backend, await getProject(backend, names));
  return {
    params: names,
    activity: await loadActivity(backend, names),
    view: toEndpointView(object),
    url: endpointUrl(object, address?.url),
    conditions: shownConditions(object),
    generation: object.metadata.generation,
    mock: json && {
      headers: json.headers ?? [],
      body: json.body ?? '',
      delay: delayText(toDelayValues(json.delay)),
    },
    timeout: forward?.timeout,
    responses: toResponseValues(spec.responses),
  };
};

export { keepLoaded as clientLoader } from '../ui/kept-form.ts';

const EndpointOverview = () => {
  const { params, activity, view, url, conditions, generation, mock, timeout, responses } =
    useKept<typeof loader>().loaded;
  return (
    <div className="flex flex-col gap-6">
      <section aria-labelledby="url" className="flex flex-col gap-1">
        <h2 id="url" className="font-medium">
          URL
        </h2>
        {url === undefined ? (
          <p className="text-muted">
            The URL appears when the operator has processed this endpoint and accepted its project.
          </p>
        ) : (
          <div className="flex min-h-9 items-center gap-1 rounded border border-line bg-panel py-1 pr-1 pl-3">
            <code className="min-w-0 flex-1 break-all">{url}</code>
            <CopyButton text={url} label="Copy URL" />
          </div>
        )}
        {url !== undefined && view.signedBy !== undefined && (
          <p className="text-small text-muted">
            Paste this URL at the provider. Requests are accepted with its signature ({view.signedBy}) or with the API
            key.
          </p>
        )}
      </section>
      {url !== undefined && <TryIt params={params} method={view.method} url={url} />}
      <EndpointActivitySection params={params} loaded={activity} />
      <StatusStrip conditions={conditions} generation={generation} />
      <EndpointResponses view={view} mock={mock} timeout={timeout} responses={responses} />
    </div>
  );
};
export default EndpointOverview;

export { RouteError as ErrorBoundary } from '../shell/route-error.tsx';
