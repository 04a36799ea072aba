import type { RequestHandler } from 'express';
import { Counter, Histogram, type Registry } from 'prom-client';
import { SHARE_PATH } from './shares/serve-shares.ts';

/** Upper bounds of the histogram buckets, in seconds. A search may take up to ClickHouse's time limit. */
const DURATION_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The label is never a path, because anyone can request any path, and each value is a series in Prometheus. */
const areaLabel = (path: string): string => {
  if (path.startsWith('/api/')) return 'api';
  if (path.startsWith('/assets/')) return 'asset';
  return path.startsWith(SHARE_PATH) ? 'share' : 'page';
};

/** Counts and measures responses. Streams are counted, but not measured, because they last as long as their reader stays. */
export const responseMetrics = (registry: Registry): RequestHandler => {
  const registers = [registry];
  const responses = new Counter({
    name: 'standin_dashboard_responses_total',
    help: 'Responses of the dashboard, by area (page, api, share, asset) and status.',
    labelNames: ['area', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'standin_dashboard_duration_seconds',
    help: 'Time from the arrival of a request to the last byte of its response, without event streams.',
    labelNames: ['area'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  return (request, response, next) => {
    const startedMs = performance.now();
    const area = areaLabel(request.path);
    response.once('close', () => {
      // A client that leaves before the response has no status.
      const status = response.headersSent ? `${Math.floor(response.statusCode / 100)}xx` : 'none';
      responses.inc({ area, status });
      if (!String(response.getHeader('content-type')).startsWith('text/event-stream'))
        durations.observe({ area }, (performance.now() - startedMs) / 1_000);
    });
    next();
  };
};
