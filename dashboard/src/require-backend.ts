import type { Backend } from './backend.ts';

/** Throws what a page says to somebody who is not signed in. */
export const requireBackend = (backend: Backend | undefined): Backend => {
  if (backend !== undefined) return backend;
  const failure = {
    kind: 'Unauthorized',
    title: 'You are not signed in',
    message: 'Sign in, and open this page again.',
  };
  throw Response.json(failure, { status: 401 });
};
