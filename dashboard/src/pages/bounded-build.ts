import type { DashboardContext } from '../dashboard-context.ts';
import { backToPage } from '../signed-in-backend.ts';
import { toFailure } from './failures.ts';

interface RouteCall {
  readonly context: DashboardContext;
  readonly request: Request;
}
type RouteFunction = (call: RouteCall) => unknown;
interface RouteModule {
  readonly loader?: RouteFunction;
  readonly action?: RouteFunction;
  /** The component of a page. */
  readonly default?: unknown;
}

interface Route {
  readonly module: RouteModule;
  /** True if the route has the URL of its parent, which is a page. */
  readonly index?: boolean | undefined;
}

/** The exports of a build's `server/index.js` that are used here. */
export interface RemixBuild {
  readonly routes: Readonly<Record<string, Route>>;
}

/**
 * turbo-stream recurses at each level. Fewer than 1,000 levels can be enough to overflow its stack, and then the page is cut off
 * halfway.
 */
export const DEPTH_MAX = 100;
/** Encoding takes about 2 µs per value, so a page with this many values takes about a second. */
export const VALUES_MAX = 500_000;

/** Returns whether turbo-stream 2 can encode a value within bounds (CVE-2026-34077). See docs/internals/adr/004-remix-2.md. */
export const isBounded = (value: unknown): boolean => {
  const waiting: [value: unknown, depth: number][] = [[value, 0]];
  let values = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [current, depth] = next;
    // A value that resolves later cannot be checked now.
    if (current instanceof Promise) return false;
    if (typeof current !== 'object' || current === null) continue;
    const inside: readonly unknown[] = Array.isArray(current) ? current : Object.values(current);
    values += inside.length;
    if (values > VALUES_MAX || (inside.length > 0 && depth === DEPTH_MAX)) return false;
    for (const child of inside) waiting.push([child, depth + 1]);
  }
  return true;
};

const TOO_MUCH = {
  kind: 'Refused',
  title: 'This page is too large to show',
  message: 'Its data is too large, or nested too deeply. See the dashboard log for details.',
};

/**
 * Returns whether Remix would read the response to a data request (`.data`) to its end before it sends anything. The response could
 * be an export or an endless stream.
 */
const isReadWhole = ({ body, headers }: Response): boolean =>
  body !== null && headers.get('content-type')?.startsWith('application/json') !== true;

/**
 * Calls a route and converts known errors to error pages. Routes call functions that throw errors and not pages, because the API
 * calls the same functions. A redirect to the login page leads back to a page and not to its data.
 */
const callHandler = async (handle: RouteFunction, call: RouteCall, isPage: boolean): Promise<unknown> => {
  try {
    return await handle(call);
  } catch (error) {
    throw toFailure(error) ?? (isPage || !call.context.isDataRequest ? error : backToPage(error, call.request));
  }
};

const bounded =
  (id: string, handle: RouteFunction, isPage: boolean): RouteFunction =>
  async (call) => {
    const { isDataRequest, logger } = call.context;
    const result = await callHandler(handle, call, isPage);
    if (result instanceof Response) {
      if (!isDataRequest || !isReadWhole(result)) return result;
      await result.body?.cancel();
      throw new Response(null, { status: 406 });
    }
    if (isBounded(result)) return result;
    logger.error({ route: id }, 'page data too large or nested too deeply');
    throw Response.json(TOO_MUCH, { status: 500 });
  };

/** Wraps the routes of a build. Remix then never encodes or reads a result without a bound, and known failures become pages. */
export const boundedBuild = (build: unknown): RemixBuild => {
  const { routes, ...rest } = build as RemixBuild;
  const entries = Object.entries(routes).map(([id, route]) => {
    const { loader, action, default: component } = route.module;
    const isPage = component !== undefined || route.index === true;
    const module = {
      ...route.module,
      ...(loader !== undefined && { loader: bounded(id, loader, isPage) }),
      ...(action !== undefined && { action: bounded(id, action, isPage) }),
    };
    return [id, { ...route, module }] as const;
  });
  return { ...rest, routes: Object.fromEntries(entries) };
};
