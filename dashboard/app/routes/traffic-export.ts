import { createReadableStreamFromReadable, type LoaderFunctionArgs } from '@remix-run/node';
import { Readable } from 'node:stream';
import { openLog } from '../../src/projects/projects.ts';
import { notFound } from '../../src/pages/failures.ts';
import { projectParams } from './params.server.ts';
import { exportFormat, exportTraffic } from '../../src/requests/export-requests.ts';
import { trafficFilterOrFail } from '../requests/read-traffic.server.ts';

/** Exports all matching requests as a file. */
export const loader = async ({ request, params, context: { backend, logger } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  const now = new Date();
  const { searchParams } = new URL(request.url);
  const format = exportFormat(searchParams.get('format'));
  if (format === undefined) throw notFound('export format', 'Use ?format=csv, ?format=ndjson or ?format=har.');
  const filter = trafficFilterOrFail(searchParams, now);
  const log = await openLog(backend, names);
  // Excludes requests that arrive during the export.
  const file = Readable.from(
    exportTraffic(log, { ...filter, untilUs: filter.untilUs ?? now.getTime() * 1_000 }, format),
  );
  file.on('error', (error) => logger.warn({ err: error }, 'export failed'));
  const name = `${names.project}-traffic-${now.toISOString().slice(0, 19).replaceAll(':', '')}.${format.extension}`;
  return new Response(createReadableStreamFromReadable(file), {
    headers: {
      'content-type': format.contentType,
      'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
    },
  });
};
