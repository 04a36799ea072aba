import { redirect } from '@remix-run/node';
import { noticeCookie } from '../ui/flash.ts';

/** Redirects to a page that shows this sentence about the action once. `to` is a path without a query. */
export const redirectWithNotice = (to: string, notice: string) =>
  redirect(to, { headers: { 'set-cookie': noticeCookie(to, notice) } });
