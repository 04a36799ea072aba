import type { LoaderFunctionArgs } from '@remix-run/node';
import { parseInstant } from '@standin/contract';
import { openLog } from '../../src/projects/projects.ts';
import { eventStream } from '../../src/pages/event-stream.ts';
import { projectParams } from './params.server.ts';
import { trafficFilterOrFail } from '../requests/read-traffic.server.ts';
import { streamTraffic } from '../traffic/stream-traffic.server.ts';

/**
 * Streams the requests that the search in the URL selects, as they arrive. The `rows` events contain all such requests received
 * since `since`, except those that the log contained before `inserted`. Their ids are the value of `inserted` with which a client
 * continues after them. The `unavailable` events report that the log cannot be read.
 */
export const loader = async ({ request, params, context }: LoaderFunctionArgs) => {
  const { backend, logger } = context;
  const { searchParams } = new URL(request.url);
  const filter = trafficFilterOrFail(searchParams, new Date());
  const log = await openLog(backend, projectParams(params));
  const sinceUs = parseInstant(searchParams.get('since') ?? '') ?? filter.sinceUs;
  const inserted = searchParams.get('inserted') ?? '';
  const insertedSince = /^[1-9]\d{0,14}$/.test(inserted) ? new Date(Number(inserted)) : undefined;
  return eventStream({ request, context }, (sink, signal) => {
    streamTraffic({ log, filter: { ...filter, sinceUs, insertedSince }, sink, signal })
      .catch((error: unknown) => logger.warn({ err: error }, 'tail ended'))
      // The browser reconnects.
      .finally(() => sink.end());
  });
};
