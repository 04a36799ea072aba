import { expect, it } from 'vitest';
import { action } from './login.tsx';

it('the browser loads the page or file that was asked for when the user has signed in', async () => {
  const to = '/p/a/b/traffic/0198/body?part=request';
  const body = new URLSearchParams({ to, token: 'token' });
  const signIn = {
    withToken: () => Promise.resolve({ ok: true, user: 'anna', cookies: ['session=1', 'session.1=2'] }),
  };
  const answer = await action({
    request: new Request('http://x/login', { method: 'POST', body }),
    context: { signIn },
  } as never);
  if (!(answer instanceof Response)) throw new Error('not redirected');
  expect(Object.fromEntries(answer.headers)).toMatchObject({ location: to, 'x-remix-reload-document': 'true' });
  expect(answer.headers.getSetCookie()).toEqual(['session=1', 'session.1=2']);
});
