import { redirect, type ActionFunctionArgs } from '@remix-run/node';
import { paths } from '../paths.ts';

export const action = ({ context: { signIn } }: ActionFunctionArgs) => {
  if (signIn === undefined) return redirect(paths.home());
  return redirect(paths.login({ reason: 'signed-out' }), {
    headers: signIn.signOut().map((cookie): [string, string] => ['set-cookie', cookie]),
  });
};
