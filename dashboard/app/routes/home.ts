import { redirect } from '@remix-run/node';
import { paths } from '../lib/paths.ts';

export const loader = () => redirect(paths.projects());
