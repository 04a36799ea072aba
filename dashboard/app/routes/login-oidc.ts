import { redirect, type LoaderFunctionArgs } from '@remix-run/node';
import { returnPath } from '../../src/access/return-path.ts';
import { paths } from '../paths.ts';

/**
 * Redirects to the identity provider. Pages link here instead of submitting a form, because the content security policy only allows
 * forms that lead to the dashboard.
 */
export const loader = async ({ request, context: { signIn, logger } }: LoaderFunctionArgs) => {
  const to = returnPath(new URL(request.url).searchParams.get('to'));
  const provider = signIn?.provider;
  if (provider === undefined) return redirect(paths.login({ to }));
  try {
    const { location, cookies } = await provider.begin(to);
    return redirect(location, { headers: cookies.map((cookie): [string, string] => ['set-cookie', cookie]) });
  } catch (error) {
    logger.warn({ err: error }, 'identity provider unreachable');
    return redirect(paths.login({ to, reason: 'provider' }));
  }
};
