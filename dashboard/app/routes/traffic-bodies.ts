import type { LoaderFunctionArgs } from '@remix-run/node';
import { openLog } from '../../src/projects/projects.ts';
import { bodyPreview } from '../../src/requests/body-preview.ts';
import { respondOrUnavailable } from '../requests/read-traffic.server.ts';
import { projectParams } from './params.server.ts';

const KEYS_MAX = 100;
const PREVIEW_BYTES_MAX = 200;

/**
 * Returns the beginnings of request bodies as text, by id. Each key is the receive time and the id of a request, separated by `~`,
 * and keys are separated by spaces.
 */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const keys = (new URL(request.url).searchParams.get('keys') ?? '').split(' ').map((key) => {
    const [receivedAt = '', id = ''] = key.split('~');
    return { receivedAt, id };
  });
  if (keys.length > KEYS_MAX) throw new Response(`keys can contain at most ${KEYS_MAX} requests.`, { status: 400 });
  const log = await openLog(backend, projectParams(params));
  const read = log.requestBodies(keys, PREVIEW_BYTES_MAX).then((found) => ({
    bodies: Object.fromEntries(keys.map(({ id }) => [id, bodyPreview(found.get(id))])),
  }));
  return respondOrUnavailable(read);
};
