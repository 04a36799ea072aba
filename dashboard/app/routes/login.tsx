import {
  data,
  redirect,
  redirectDocument,
  type ActionFunctionArgs,
  type LoaderFunctionArgs,
  type MetaFunction,
} from '@remix-run/node';
import { Form, useLoaderData, useNavigation } from '@remix-run/react';
import { LogIn } from 'lucide-react';
import { returnPath } from '../../src/access/return-path.ts';
import { paths } from '../paths.ts';
import { NotDone } from '../ui/error-summary.tsx';
import { useSubmitted } from '../ui/use-last-action-data.ts';
import { TokenForm } from '../sign-in/token-form.tsx';
import { buttonClass } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';

export const meta: MetaFunction = () => [{ title: 'Sign in · Standin' }];

/**
 * The notices of the login page, by the `reason` in the URL. Unknown reasons are ignored, so that a link cannot make the dashboard
 * show arbitrary text.
 */
const NOTICES: ReadonlyMap<string, string> = new Map([
  ['expired', 'The Kubernetes API server no longer accepts your token. Sign in again to continue.'],
  ['signed-out', 'You have signed out.'],
  ['provider', 'The identity provider did not sign you in. Try again, or see the dashboard log for the reason.'],
  [
    'refused',
    'The identity provider signed you in, but the Kubernetes API server does not accept its token. Ask your administrator to check that both use the same OIDC settings.',
  ],
  ['stale', 'The sign-in took too long or was started in a different browser. Sign in again.'],
  [
    'large',
    'The identity provider’s token is too large for a cookie. Ask your administrator for a token with fewer groups.',
  ],
  ['cluster', 'The Kubernetes API server is not responding. Try again in a moment.'],
]);

export const loader = ({ request, context: { signIn, user } }: LoaderFunctionArgs) => {
  const { searchParams } = new URL(request.url);
  const to = returnPath(searchParams.get('to'));
  if (signIn === undefined) throw redirect(to);
  return { to, user, notice: NOTICES.get(searchParams.get('reason') ?? ''), provider: signIn.provider?.name };
};

export const action = async ({ request, context: { signIn } }: ActionFunctionArgs) => {
  const form = await request.formData();
  const trimmedField = (name: string): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  const to = returnPath(trimmedField('to'));
  if (signIn === undefined) return redirect(to);
  const token = trimmedField('token');
  if (token === '') return data({ error: 'Enter a token.' }, { status: 422 });
  const result = await signIn.withToken(token);
  // The pasted token is not returned, because it is a credential.
  if (!result.ok) return data({ error: result.message }, { status: result.failure === 'cluster' ? 503 : 422 });
  // `to` can be a file, which no page shows, and scripts must not keep what they loaded for another user.
  return redirectDocument(to, { headers: result.cookies.map((cookie): [string, string] => ['set-cookie', cookie]) });
};

export { keepSubmitted as clientAction } from '../ui/kept-form.ts';

const Login = () => {
  const { to, user, notice, provider } = useLoaderData<typeof loader>();
  const { answer: refused, unsaved } = useSubmitted<typeof action>();
  const isSending = useNavigation().state !== 'idle';
  return (
    <div className="mx-auto flex w-full max-w-lg flex-col gap-5 px-4 py-12 sm:py-20">
      <div>
        <h1 className="text-h1">Sign in to Standin</h1>
        <p className="mt-1 text-muted">
          The dashboard uses your Kubernetes permissions. It can do only what you can do with kubectl.
        </p>
      </div>
      {notice !== undefined && refused === undefined && (
        <Notice look="info" alert>
          {notice}
        </Notice>
      )}
      {user !== undefined && (
        <Notice look="info">
          You are signed in as <code className="break-all">{user}</code>. Sign in again to switch users.
        </Notice>
      )}
      {provider !== undefined && (
        <>
          <a href={paths.oidc({ to })} className={buttonClass('primary', 'h-9')}>
            <LogIn aria-hidden /> Sign in with {provider}
          </a>
          <p className="flex items-center gap-3 text-small text-muted before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
            or with a token
          </p>
        </>
      )}
      <Form method="post" noValidate className="flex flex-col gap-4 rounded-lg border border-line bg-raised p-4">
        <NotDone unsaved={unsaved} done="signed in" />
        <input type="hidden" name="to" value={to} />
        <TokenForm
          error={refused?.error}
          isSending={isSending}
          look={provider === undefined ? 'primary' : 'secondary'}
        />
      </Form>
    </div>
  );
};
export default Login;
