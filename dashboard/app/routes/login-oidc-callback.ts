import { redirect, type LoaderFunctionArgs } from '@remix-run/node';
import { onwardPage } from '../../src/redirect-page.ts';
import { paths } from '../paths.ts';

/** Finishes the sign-in when the identity provider sends the browser back. */
export const loader = async ({ request, context: { signIn } }: LoaderFunctionArgs) => {
  const provider = signIn?.provider;
  if (provider === undefined) return redirect(paths.login());
  const { pathname, search } = new URL(request.url);
  const { to, result } = await provider.finish(`${pathname}${search}`, request.headers.get('cookie') ?? undefined);
  if (!result.ok) return redirect(paths.login({ to, reason: result.failure }));
  return new Response(onwardPage(to), {
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ...result.cookies.map((cookie): [string, string] => ['set-cookie', cookie]),
    ],
  });
};
