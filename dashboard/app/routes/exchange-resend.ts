import type { ActionFunctionArgs } from '@remix-run/node';
import type { Backend } from '../../src/backend.ts';
import { describeUpstream } from '../../src/endpoints/endpoints.ts';
import { replayObject } from '../../src/replays/replay-object.ts';
import type { RequestName } from '../../src/resources/names.ts';
import { readExchange } from '../exchange/read-exchange.server.ts';
import { CONFIRMED, type Resent } from '../replays/resend-action.tsx';
import { createReplay, submittedReplayName } from '../replays/save-replay.server.ts';
import type { Unsaved } from '../ui/kept-form.ts';
import { exchangeParams } from './params.server.ts';

/** The methods that must not change anything (RFC 9110 section 9.2.1). */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/**
 * Creates a Replay that sends the request unchanged to its endpoint. Without confirmation, creates none if the method can change
 * data or the endpoint has an upstream.
 */
export const action = async ({ request, params, context: { backend } }: ActionFunctionArgs) => {
  const names = exchangeParams(params);
  return Response.json(await resend(backend, names, await request.formData()));
};

const resend = async (backend: Backend, names: RequestName, form: FormData): Promise<Resent | Unsaved> => {
  const { entry } = await readExchange(backend, names, (log, id) => log.preview(id, 0));
  const { method, endpoint } = entry;
  const upstream = await describeUpstream(backend, { ...names, endpoint });
  if (!form.has(CONFIRMED) && (upstream !== undefined || !SAFE_METHODS.has(method)))
    return { kind: 'ask', method, upstream };
  const replay = submittedReplayName(form, names);
  const object = replayObject({ ...names, name: replay }, { requestId: names.id, target: { kind: 'Endpoint' } });
  const { object: created, errors, isUnknown } = await createReplay(backend, object);
  return created === undefined ? { unsaved: errors.form.join(' '), isUnknown } : { kind: 'sent', replay };
};
