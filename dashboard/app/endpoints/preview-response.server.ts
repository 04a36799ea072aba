import { isRecord, LIMITS, parseInstant } from '@standin/contract';
import { jsonMockConfig, parseObject, responseConfigs } from '@standin/crds';
import { bodyAsBuffer } from '@standin/exchange';
import type { ExplainedRequest } from '@standin/responses';
import type { DashboardContext } from '../../src/dashboard-context.ts';
import { exampleRequest } from '../../src/endpoints/example-request.ts';
import { evaluatedParts } from '../../src/captured/evaluated-parts.ts';
import type { ResponsePreview, PreviewInput } from '../../src/captured/preview-response.ts';
import { refusalMessage } from '../../src/pages/failures.ts';
import { openLog, projectUrl } from '../../src/projects/projects.ts';
import { isNotFound } from '../../src/resources/not-found.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { problemText } from '../../src/resources/problem-text.ts';
import { foundRequest } from '../../src/requests/found-request.ts';
import { isUnavailable, orUnavailable, type Unavailable } from '../requests/read-traffic.server.ts';
import { lineFeeds } from '../ui/text-lines.ts';
import { EXAMPLE, PREVIEW_FIELDS } from './preview-fields.ts';
import type { EndpointDraft } from './save-endpoint.server.ts';

type Context = Pick<DashboardContext, 'backend' | 'workers'>;

/**
 * Returns what the endpoint in the form would respond with to the request that the form selects, or why that is not known. Returns
 * undefined if the form selects no request.
 */
export const previewDraft = async (
  context: Context,
  names: ProjectName,
  form: FormData,
  draft: EndpointDraft,
): Promise<ResponsePreview | Unavailable | undefined> => {
  if (fieldText(form, PREVIEW_FIELDS.request) === '') return undefined;
  try {
    const input = await previewInput(context, names, form, draft);
    if (isUnavailable(input)) return input;
    const { request, responses, mock } = input;
    return await context.workers.run('previewResponse', input, evaluatedParts(request, [responses, mock]));
  } catch (error) {
    if (isNotFound(error)) return { unavailable: 'The request is no longer in the log. Choose another one.' };
    return { unavailable: refusalMessage(error) };
  }
};

const previewInput = async (
  { backend }: Context,
  names: ProjectName,
  form: FormData,
  { values, object }: EndpointDraft,
): Promise<PreviewInput | Unavailable> => {
  // A new endpoint has no names at first, which do not affect its responses.
  const name = object.metadata.name || 'new';
  const displayName = values['spec.displayName'] || 'new';
  const parsed = parseObject({
    ...object,
    metadata: { ...object.metadata, name },
    spec: { ...(isRecord(object.spec) && object.spec), displayName },
  });
  if (!parsed.ok)
    return { unavailable: `Correct the form to see the response. ${problemText(parsed.problems.slice(0, 1))}` };
  if (parsed.value.kind !== 'Endpoint') throw new Error('the form does not describe an Endpoint');
  const { spec } = parsed.value;
  const id = fieldText(form, PREVIEW_FIELDS.request);
  const described = id === EXAMPLE ? describedRequest(form, spec, names) : await capturedRequest(backend, names, id);
  if (isUnavailable(described)) return described;
  const request = { ...described, projectUrl: await projectUrl(backend, names) };
  const edited = fieldText(form, PREVIEW_FIELDS.edited);
  return {
    endpoint: { namespace: names.namespace, name, method: spec.method, slug: spec.slug, action: spec.action },
    responses: responseConfigs(spec, name),
    mock: spec.action === 'JSON' ? jsonMockConfig(spec) : undefined,
    request,
    edited: edited === 'default' ? edited : /^\d{1,3}$/.test(edited) ? Number(edited) : undefined,
  };
};

const fieldText = (form: FormData, field: string): string => {
  const value = form.get(field);
  return typeof value === 'string' ? value : '';
};

type ReadRequest = Omit<ExplainedRequest, 'projectUrl'>;

/** What expressions see of a request that was not sent. */
const UNSENT_ID = '00000000-0000-0000-0000-000000000000';

const describedRequest = (
  form: FormData,
  { slug, method }: { readonly slug: string; readonly method: string },
  { project }: ProjectName,
): ReadRequest | Unavailable => {
  const request = exampleRequest(slug, {
    method,
    target: fieldText(form, PREVIEW_FIELDS.target),
    headers: fieldText(form, PREVIEW_FIELDS.headers),
    body: lineFeeds(fieldText(form, PREVIEW_FIELDS.body)),
  });
  return isUnavailable(request) ? request : { ...request, project, id: UNSENT_ID, receivedAtUs: Date.now() * 1_000 };
};

/** Reads a request with the user's permission to read the log, as its page does. */
const capturedRequest = async (
  backend: Context['backend'],
  names: ProjectName,
  id: string,
): Promise<ReadRequest | Unavailable> => {
  const log = await openLog(backend, names);
  // Expressions cannot see a larger body. With these extra bytes, a body over the limit remains over the limit.
  const found = await orUnavailable(foundRequest(log.preview(id, LIMITS.expressionTextLengthMax + 8)));
  if (isUnavailable(found)) return found;
  const { method, path, query, request, receivedAt, project } = found.entry;
  const { headers } = request;
  return {
    id,
    method,
    path,
    query,
    headers,
    project,
    body: bodyAsBuffer(request),
    receivedAtUs: parseInstant(receivedAt) ?? 0,
  };
};
