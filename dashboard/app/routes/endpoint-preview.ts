import type { ActionFunctionArgs, LoaderFunctionArgs } from '@remix-run/node';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { openLog } from '../../src/projects/projects.ts';
import { previewDraft } from '../endpoints/preview-response.server.ts';
import type { EndpointPreview } from '../endpoints/use-endpoint-preview.ts';
import { applyDraft, copiedBy, readDraft } from '../endpoints/save-endpoint.server.ts';
import { manifestYaml } from '../../src/resources/manifest-yaml.ts';
import { respondOrUnavailable } from '../requests/read-traffic.server.ts';
import { toTrafficRow } from '../requests/traffic-row.ts';
import { projectParams } from './params.server.ts';

/** The number of requests to choose from. */
const REQUESTS_MAX = 20;

/** Returns the latest captured requests of `?endpoint=NAME`, for the preview of its responses. */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const endpoint = new URL(request.url).searchParams.get('endpoint') ?? '';
  const reading = openLog(backend, projectParams(params)).then(async (log) => ({
    requests: (await log.summaries({ endpoint, limit: REQUESTS_MAX })).map(toTrafficRow),
  }));
  return respondOrUnavailable(reading.catch((error: unknown) => ({ unavailable: refusalMessage(error) })));
};

export { keepFetched as clientLoader } from '../ui/kept-form.ts';

/** Returns the manifest for a form, the problems that the API server reports, and the response to a request. Writes nothing. */
export const action = async ({ request, params, context }: ActionFunctionArgs) => {
  const { backend } = context;
  const names = projectParams(params);
  const form = await request.formData();
  const endpoint = form.get('endpoint');
  const before =
    typeof endpoint === 'string' && endpoint !== '' ? await getEndpoint(backend, { ...names, endpoint }) : undefined;
  const draft = readDraft(form, names, before, await copiedBy(backend, names, form));
  const [{ errors }, answer] = await Promise.all([
    applyDraft(backend, draft, before, true),
    previewDraft(context, names, form, draft),
  ]);
  const preview: EndpointPreview = { yaml: manifestYaml(draft.object, backend.mode), errors, answer };
  return Response.json(preview);
};
