import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createElement, lazy, Suspense, type ComponentType } from 'react';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { DashboardContext } from '../src/dashboard-context.ts';
import { servePages } from '../src/pages/serve-pages.ts';
import { requestTurns } from '../src/request-turns.ts';
import { unreceivedBytes } from '../src/unreceived-bytes.ts';
import * as entry from './entry.server.tsx';

/** A promise that the page waits for. The page fails when a test rejects it. */
let failing: PromiseWithResolvers<never>;
/** Resolves when the server notices that the client has disconnected. */
let left: PromiseWithResolvers<unknown>;
/** The messages that were logged. */
let logged: string[];
/** If the query contains `load`, waits for `failing`, so that the page can fail before it starts. */
const loader = async ({ request }: { request: Request }): Promise<null> => {
  request.signal.addEventListener('abort', left.resolve);
  if (new URL(request.url).searchParams.has('load')) await failing.promise;
  return null;
};
const Page = (): ReturnType<typeof createElement> => {
  const { promise } = failing;
  const Late = lazy(() => promise as Promise<{ default: ComponentType }>);
  return createElement(Suspense, { fallback: 'begun' }, createElement(Late));
};

const build = {
  entry: { module: entry },
  routes: { root: { id: 'root', path: '', module: { default: Page, loader, ErrorBoundary: () => 'failed' } } },
  assets: {
    entry: { module: '', imports: [] },
    routes: { root: { id: 'root', path: '', module: '' } },
    url: '',
    version: '',
  },
  publicPath: '/',
  assetsBuildDirectory: '',
  future: {},
  mode: 'production',
  isSpaMode: false,
};
const logger = { error: (_fields: object, message: string) => void logged.push(message) };
const createContext = () => ({ nonce: '', logger }) as unknown as DashboardContext;
const openBody = () => {
  throw new Error('A GET has no body.');
};
const holderFor = () => 'ada';
const unreceived = unreceivedBytes();
const turns = requestTurns();
const server = createServer(
  express().use(servePages({ build, createContext, openBody, holderFor, unreceived, turns })),
);

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => server.close());
beforeEach(() => {
  failing = Promise.withResolvers();
  failing.promise.catch(() => undefined);
  left = Promise.withResolvers();
  logged = [];
});

const open = (query: string) => get(`http://127.0.0.1:${(server.address() as AddressInfo).port}/?${query}`);
const fails = [
  ['load', 'page failed'],
  ['stream', 'page failed while streaming'],
] as const;

/** Waits until the request arrives. For `stream`, also waits for the start of the page and returns the response. */
const begun = async (query: string, reading: ReturnType<typeof open>): Promise<IncomingMessage | undefined> => {
  if (query === 'load') {
    await once(server, 'request');
    return undefined;
  }
  const [response] = (await once(reading, 'response')) as [IncomingMessage];
  await once(response, 'data');
  return response;
};

test.each(fails)('a page failure (%s) is logged while the client is waiting', async (query, message) => {
  const reading = open(query);
  await begun(query, reading);
  failing.reject(new Error('broken'));
  await expect.poll(() => logged).toEqual([message]);
  reading.on('error', () => undefined).destroy();
});

test.each(fails)('a page failure (%s) is not logged after the client disconnects', async (query) => {
  const reading = open(query).on('error', () => undefined);
  await begun(query, reading);
  reading.destroy();
  await left.promise;
  failing.reject(new Error('broken'));
  // The next failure is logged. If the first failure were logged too, its message would come first.
  left = Promise.withResolvers();
  const next = open('load');
  await expect.poll(() => logged).toEqual(['page failed']);
  next.on('error', () => undefined).destroy();
});
