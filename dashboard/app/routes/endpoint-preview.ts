import type { ActionFunctionArgs } from '@remix-run/node';
import { getEndpoint } from '../../src/endpoints/endpoints.ts';
import type { EndpointPreview } from '../endpoints/use-endpoint-preview.ts';
import { applyDraft, draftOf } from '../endpoints/save-endpoint.server.ts';
import { manifestYaml } from '../../src/resources/manifest-yaml.ts';
import { projectParams } from './params.server.ts';

/** Returns the manifest for a form and the problems that the API server reports. Writes nothing. */
export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = projectParams(params);
  const form = await request.formData();
  const endpoint = form.get('endpoint');
  const before =
    typeof endpoint === 'string' && endpoint !== '' ? await getEndpoint(backend, { ...names, endpoint }) : undefined;
  const draft = draftOf(form, names, before);
  const { errors } = await applyDraft(backend, draft, before, true);
  const preview: EndpointPreview = { yaml: manifestYaml(draft.object, backend.mode), errors };
  return Response.json(preview);
};
