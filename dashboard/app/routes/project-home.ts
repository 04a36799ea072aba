import { redirect, type LoaderFunctionArgs } from '@remix-run/node';
import { projectParams } from '../lib/params.server.ts';
import { paths } from '../lib/paths.ts';

export const loader = ({ params }: LoaderFunctionArgs) => redirect(paths.endpoints(projectParams(params)));
