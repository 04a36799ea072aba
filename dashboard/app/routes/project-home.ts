import { redirect, type LoaderFunctionArgs } from '@remix-run/node';
import { listEndpoints } from '../../src/endpoints/endpoints.ts';
import { projectParams } from './params.server.ts';
import { paths } from '../paths.ts';

/** Redirects to the Traffic screen or, if the project has no endpoints yet, to the list of endpoints. */
export const loader = async ({ params, context: { backend } }: LoaderFunctionArgs) => {
  const names = projectParams(params);
  const hasEndpoints = (await listEndpoints(backend, names)).length > 0;
  return redirect(hasEndpoints ? paths.traffic(names) : paths.endpoints(names));
};
