import { redirect, type ActionFunctionArgs } from '@remix-run/node';
import { paths } from '../paths.ts';

export const action = ({ request, context: { signIn } }: ActionFunctionArgs) => {
  if (signIn === undefined) return redirect(paths.home());
  const cookies = signIn.signOut(request.headers.get('cookie') ?? undefined);
  return redirect(paths.login({ reason: 'signed-out' }), {
    headers: cookies.map((cookie): [string, string] => ['set-cookie', cookie]),
  });
};
