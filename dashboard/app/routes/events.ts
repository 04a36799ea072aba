import type { LoaderFunctionArgs } from '@remix-run/node';
import { eventStream } from '../../src/pages/event-stream.ts';

/**
 * Sends `ready`, then a `change` for each changed object, with its kind, namespace and name. A `change` without these means that
 * any object may have changed. Pages then reload their data.
 */
export const loader = ({ request, context }: LoaderFunctionArgs) => {
  const { backend, logger } = context;
  const namespace = new URL(request.url).searchParams.get('namespace') ?? undefined;
  return eventStream({ request, context }, (sink, signal) => {
    backend.resources
      .watch(namespace, (ref) => sink.send('change', ref ?? {}), signal)
      .catch((error: unknown) => {
        // The page is closed.
        if (!signal.aborted) logger.warn({ err: error }, 'watch ended');
      })
      // The browser reconnects.
      .finally(() => sink.end());
    sink.send('ready', {});
  });
};
