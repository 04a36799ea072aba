import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import express from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { staticAssets } from './static-assets.ts';

let folder: string;
let server: Server;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'static-assets-'));
  await writeFile(path.join(folder, 'app.js'), 'plain');
  await writeFile(path.join(folder, 'app.js.br'), 'compressed');
  server = express()
    .use(await staticAssets(folder))
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

it.each([
  ['gzip, deflate, br, zstd', 'br'],
  ['*', 'br'],
  ['br;q=0.5', 'br'],
  [undefined, undefined],
  ['gzip', undefined],
  ['br;q=0, gzip', undefined],
  ['x-br', undefined],
])('a client that accepts %s gets the encoding %s', async (accepted, encoding) => {
  const headers = accepted === undefined ? {} : { 'accept-encoding': accepted };
  const asked = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, path: '/app.js', headers });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const body = Buffer.concat(await response.toArray()).toString();
  expect([response.headers['content-encoding'], body]).toEqual([encoding, encoding === 'br' ? 'compressed' : 'plain']);
});

it('files are served from memory, so that a slow client keeps no file open', async () => {
  await rm(path.join(folder, 'app.js'));
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/app.js`, {
    headers: { 'accept-encoding': 'identity' },
  });
  expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([200, '5', 'plain']);
});
