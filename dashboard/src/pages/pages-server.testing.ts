import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { preferProductionReact } from '../settings.ts';
import express from 'express';
import type { DashboardContext } from '../dashboard-context.ts';
import { bodyReader } from '../request-bodies.ts';
import { requestTurns } from '../request-turns.ts';
import { unreceivedBytes, type UnreceivedBytes } from '../unreceived-bytes.ts';
import type { RemixBuild } from './bounded-build.ts';
import { formBody } from './form-body.ts';
import { servePages, type ServePagesParts } from './serve-pages.ts';

type Module = RemixBuild['routes'][string]['module'];

/**
 * Returns a Remix build like the one that Vite generates. Each page contains only its data, as Remix encodes it. Everything else is
 * unchanged from Remix.
 */
export const testBuild = (modules: Readonly<Record<string, Module>>): unknown => ({
  entry: {
    module: {
      default: async (
        _: Request,
        status: number,
        headers: Headers,
        { serverHandoffStream }: { serverHandoffStream: ReadableStream },
      ) => Promise.resolve(new Response(serverHandoffStream, { status, headers })),
      handleError: () => undefined,
    },
  },
  routes: Object.fromEntries(Object.entries(modules).map(([path, module]) => [path, { id: path, path, module }])),
  assets: { version: '1', url: '/manifest.js', entry: { module: '/entry.js', imports: [] }, routes: {} },
  future: { v3_singleFetch: true },
  isSpaMode: false,
});

export interface PagesServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Logged errors. */
  readonly errors: readonly unknown[];
}

interface StartOptions {
  readonly unreceived?: UnreceivedBytes;
  /** Whose shares a request uses. */
  readonly holderFor?: ServePagesParts['holderFor'];
}

/** Serves a build with these routes on a free port. */
export const startPages = async (
  modules: Readonly<Record<string, Module>>,
  { unreceived = unreceivedBytes(), holderFor = () => 'ada' }: StartOptions = {},
): Promise<PagesServer> => {
  preferProductionReact();
  const errors: unknown[] = [];
  const readBody = bodyReader();
  const pages = servePages({
    build: testBuild(modules),
    createContext: (request) =>
      ({
        isDataRequest: request.path.endsWith('.data'),
        logger: { error: (fields: unknown) => errors.push(fields) },
      }) as unknown as DashboardContext,
    openBody: (request, response) =>
      formBody(request, response, { readBody, findHolder: () => 'ada', isSignedIn: true }),
    holderFor,
    unreceived,
    turns: requestTurns(),
  });
  const server = express().use(pages).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    errors,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
