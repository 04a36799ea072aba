import type { IncomingMessage } from 'node:http';
import { SourceError } from '@standin/contract';
import { pagePath, returnPath } from './access/return-path.ts';
import type { Backend } from './backend.ts';

type PageRequest = Pick<IncomingMessage, 'headers' | 'method'> & { readonly originalUrl: string };

/**
 * Returns the backend for a page request. Throws a redirect to the login page, which leads back to the page afterwards, if no user
 * is signed in. Calls of the backend reject with this redirect if the API server no longer accepts the user's token. A request that
 * is not for a page or its data gets a 401 instead.
 */
export const signedInBackend = (backend: Backend | undefined, request: PageRequest): Backend => {
  if (backend === undefined) throw wayToSignIn(request, 'no');
  const toSignIn = (error: unknown): unknown =>
    error instanceof SourceError && error.kind === 'Unauthorized' ? wayToSignIn(request, 'expired') : error;
  return { ...backend, resources: rethrowing(backend.resources, toSignIn), logs: rethrowing(backend.logs, toSignIn) };
};

/** Wraps a port so that every rejection of its calls passes through `translate`. */
const rethrowing = <T extends object>(port: T, translate: (error: unknown) => unknown): T =>
  new Proxy(port, {
    get: (target, name, receiver) => {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        try {
          return await (Reflect.apply(value, target, args) as unknown);
        } catch (error) {
          throw translate(error);
        }
      };
    },
  });

const wayToSignIn = ({ headers, originalUrl }: PageRequest, reason: 'no' | 'expired'): Response => {
  const pathname = originalUrl.split('?')[0] ?? '';
  const isPage = headers.accept?.includes('text/html') === true || pathname.endsWith('.data');
  if (!isPage) {
    const title = reason === 'no' ? 'You are not signed in' : 'Your session ended';
    return Response.json({ kind: 'Unauthorized', title, message: 'Sign in and try again.' }, { status: 401 });
  }
  return toLogin(new URLSearchParams({ to: pagePath(originalUrl), ...(reason === 'expired' && { reason }) }));
};

const LOGIN = '/login?';
const toLogin = (query: URLSearchParams): Response =>
  new Response(null, { status: 302, headers: { location: `${LOGIN}${query.toString()}` } });

/**
 * Changes a redirect to the login page so that it leads back to the page that sent the request. This is for requests whose own URL
 * has no page, such as that of a dialog for its data. Returns any other error unchanged.
 */
export const backToPage = (error: unknown, { headers }: Request): unknown => {
  const location = (error instanceof Response && error.headers.get('location')) || '';
  if (!location.startsWith(LOGIN)) return error;
  const query = new URLSearchParams(location.slice(LOGIN.length));
  const referer = headers.get('referer') ?? '';
  const page = URL.canParse(referer) ? new URL(referer) : undefined;
  query.set('to', returnPath(page && `${page.pathname}${page.search}`));
  return toLogin(query);
};
