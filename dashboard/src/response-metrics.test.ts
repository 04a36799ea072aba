import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { responseMetrics } from './response-metrics.ts';

let server: Server;
let registry: Registry;
let url: string;

beforeEach(async () => {
  registry = new Registry();
  const app = express().use(responseMetrics(registry));
  app.get('/events', (_, response) => void response.type('text/event-stream').send('data: 1\n\n'));
  app.get('/api/v1/broken', (_, response) => void response.sendStatus(503));
  app.use((_, response) => void response.send('ok'));
  server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => void server.close());

test('counts responses by area and status, and never by path', async () => {
  for (const path of ['/p/a', '/p/b', '/api/v1/broken', '/assets/a.js', '/s/token', '/events']) {
    await (await fetch(`${url}${path}`)).text();
  }
  const text = async () => registry.metrics();
  await expect.poll(text).toContain('standin_dashboard_responses_total{area="page",status="2xx"} 3');
  expect((await text()).match(/^standin_dashboard_(responses_total|duration_seconds_count).*$/gm)?.sort()).toEqual([
    'standin_dashboard_duration_seconds_count{area="api"} 1',
    'standin_dashboard_duration_seconds_count{area="asset"} 1',
    // The event stream is not measured.
    'standin_dashboard_duration_seconds_count{area="page"} 2',
    'standin_dashboard_duration_seconds_count{area="share"} 1',
    'standin_dashboard_responses_total{area="api",status="5xx"} 1',
    'standin_dashboard_responses_total{area="asset",status="2xx"} 1',
    'standin_dashboard_responses_total{area="page",status="2xx"} 3',
    'standin_dashboard_responses_total{area="share",status="2xx"} 1',
  ]);
});
