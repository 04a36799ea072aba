import type { LoaderFunctionArgs } from '@remix-run/node';
import { LogFilterError, type DistinctField } from '@standin/logstore';
import { openLog } from '../../src/projects/projects.ts';
import { projectParams } from './params.server.ts';
import { readTimeRange, resolveRange } from '../requests/time-range.ts';
import { respondOrUnavailable } from '../requests/read-traffic.server.ts';

const VALUES_MAX = 50;

/** Returns a field's values that start with `prefix` in the selected time range, as suggestions for the search box. */
export const loader = async ({ request, params, context: { backend } }: LoaderFunctionArgs) => {
  const { searchParams } = new URL(request.url);
  const range = resolveRange(readTimeRange(searchParams.get('from'), searchParams.get('to')), new Date());
  const log = await openLog(backend, projectParams(params));
  const options = { prefix: searchParams.get('prefix') ?? '', limit: VALUES_MAX };
  const values = log
    // The log store rejects unknown fields.
    .distinct((searchParams.get('field') ?? '') as DistinctField, range, options)
    .catch((error: unknown) => {
      // Free-text fields have no values to suggest.
      if (error instanceof LogFilterError) return [];
      throw error;
    });
  return respondOrUnavailable(values.then((found) => ({ values: found })));
};
