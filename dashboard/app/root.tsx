import interLatin from '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2?url';
import monoLatin from '@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2?url';
import type { LinksFunction, LoaderFunctionArgs, MetaFunction } from '@remix-run/node';
import {
  Links,
  Meta,
  Outlet,
  Scripts,
  ScrollRestoration,
  useMatches,
  useParams,
  useRouteLoaderData,
} from '@remix-run/react';
import type { ReactNode } from 'react';
import { readNotice } from './ui/flash.ts';
import { useNonce } from './ui/nonce.ts';
import { readPreferences } from './shell/preferences.ts';
import type { loader as projectLoader } from './routes/project.tsx';
import { Header, SignedOutHeader } from './shell/header.tsx';
import stylesheet from './styles/app.css?url';
import { Toaster } from './ui/toast.tsx';

export const links: LinksFunction = () => [
  { rel: 'icon', href: '/favicon.svg', type: 'image/svg+xml' },
  ...[interLatin, monoLatin].map((href) => ({
    rel: 'preload',
    as: 'font' as const,
    type: 'font/woff2',
    href,
    crossOrigin: 'anonymous' as const,
  })),
  { rel: 'stylesheet', href: stylesheet },
];

export const meta: MetaFunction = () => [{ title: 'Standin' }];

export const loader = ({ request, context }: LoaderFunctionArgs) => {
  const cookies = request.headers.get('cookie');
  const notice = readNotice(cookies, new URL(request.url).pathname);
  const { mode, user, isSignedIn } = context;
  const isApple = /Mac|iPhone|iPad/.test(request.headers.get('user-agent') ?? '');
  return { preferences: readPreferences(cookies), mode, user, isSignedIn, isApple, notice };
};

const Head = () => (
  <head>
    <meta charSet="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <Meta />
    <Links />
  </head>
);

interface LayoutProps {
  readonly children: ReactNode;
}

/** The layout of pages with `export const handle = { isPublic: true }`, which have no session and no scripts. */
const PublicLayout = ({ children }: LayoutProps) => (
  <html lang="en" data-theme="system">
    <Head />
    <body>
      <main id="main">{children}</main>
    </body>
  </html>
);

const isPublicHandle = (handle: unknown): boolean =>
  typeof handle === 'object' && handle !== null && 'isPublic' in handle && handle.isPublic === true;

export { unlessQueryOnly as shouldRevalidate } from './shell/revalidation.ts';

/** The HTML document of every page, including error pages. */
export const Layout = ({ children }: LayoutProps) =>
  useMatches().some(({ handle }) => isPublicHandle(handle)) ? (
    <PublicLayout>{children}</PublicLayout>
  ) : (
    <DashboardLayout>{children}</DashboardLayout>
  );

/** The layout of all other pages. The header stays usable if the page's data is unavailable. */
const DashboardLayout = ({ children }: LayoutProps) => {
  const nonce = useNonce();
  const root = useRouteLoaderData<typeof loader>('root');
  const project = useRouteLoaderData<typeof projectLoader>('routes/project');
  const { namespace, project: name } = useParams();
  const preferences = root?.preferences ?? readPreferences(null);
  const scripts = nonce === undefined ? {} : { nonce };
  return (
    <html lang="en" data-theme={preferences.theme} suppressHydrationWarning>
      <Head />
      <body>
        <a
          href="#main"
          className="sr-only focus:not-sr-only focus:absolute focus:top-2 focus:left-2 focus:z-50 focus:rounded focus:bg-raised focus:px-3 focus:py-1.5"
        >
          Skip to content
        </a>
        {root?.isSignedIn === false ? (
          <SignedOutHeader preferences={preferences} />
        ) : (
          <Header
            preferences={preferences}
            user={root?.user}
            isApple={root?.isApple === true}
            project={
              namespace === undefined || name === undefined
                ? undefined
                : { namespace, project: name, title: project?.title ?? name }
            }
          />
        )}
        <main id="main" tabIndex={-1} className="outline-none">
          {children}
        </main>
        <Toaster noticeWithoutScripts={root?.notice} />
        <ScrollRestoration {...scripts} />
        <Scripts {...scripts} />
      </body>
    </html>
  );
};

const App = () => <Outlet />;
export default App;

export { RouteError as ErrorBoundary } from './shell/route-error.tsx';
