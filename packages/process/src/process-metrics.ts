import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { SharedPool } from '@standin/contract';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Counter, Gauge, type Registry } from 'prom-client';
import packageJson from '../package.json' with { type: 'json' };

/** Adds the metrics of a process in a cluster: memory, CPU, event loop, and `standin_build_info`. */
export const collectProcessMetrics = (registry: Registry, component: string): void => {
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'standin_build_info',
    help: 'Always 1. The labels contain the component and its version.',
    labelNames: ['component', 'version'],
    registers: [registry],
  }).set({ component, version: packageJson.version }, 1);
};

/**
 * Adds the expiry of the process's own certificate for the config stream. `read` returns the certificate as PEM and is called at
 * each scrape. The metric is absent while the certificate cannot be read.
 */
export const exposeCertificateExpiry = (
  registry: Registry,
  read: () => string | Buffer | Promise<string | Buffer>,
): void => {
  new Gauge({
    name: 'standin_stream_certificate_expiry_timestamp_seconds',
    help: 'Unix time at which the certificate of this process for the config stream expires.',
    registers: [registry],
    async collect() {
      this.remove();
      try {
        this.set(new X509Certificate(await read()).validToDate.getTime() / 1_000);
      } catch {
        // The process logs the error when it connects.
      }
    },
  });
};

/** Longer than a healthy response, and shorter than the timeout of a scrape. */
const PING_MS_MAX = 3_000;

/**
 * Adds whether the log store responds. `ping` is called at each scrape, and rejects if it does not. Logs when it stops responding,
 * and when it responds again.
 */
export const exposeLogStore = (
  registry: Registry,
  ping: () => Promise<void>,
  logger: Pick<Logger, 'info' | 'warn'>,
): void => {
  let wasUp = true;
  const report = (failure: unknown): void => {
    const isUp = failure === undefined;
    if (isUp === wasUp) return;
    wasUp = isUp;
    if (isUp) logger.info('log store available');
    else logger.warn({ err: failure }, 'log store unavailable');
  };
  new Gauge({
    name: 'standin_log_store_up',
    help: '1 if ClickHouse responded to a query at this scrape, or 0 if it did not. Operator and dashboard report it.',
    registers: [registry],
    async collect() {
      const timeout = new AbortController();
      const tooLate = new Error(`no response within ${PING_MS_MAX} ms`);
      const late = delay(PING_MS_MAX, tooLate, { signal: timeout.signal }).catch(() => tooLate);
      const pinged = ping().then(
        () => undefined,
        (error: unknown) => error ?? new Error('unknown error'),
      );
      const failure = await Promise.race([pinged, late]);
      timeout.abort();
      this.set(failure === undefined ? 1 : 0);
      report(failure);
    },
  });
};

/** Adds what each pool holds, without a label for holders, of which there may be thousands. */
export const exposeShares = (registry: Registry, pools: ReadonlyMap<string, SharedPool>): void => {
  const gauge = (name: string, help: string, value: (pool: SharedPool) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['pool'],
      registers: [registry],
      collect() {
        for (const [pool, shared] of pools) this.set({ pool }, value(shared));
      },
    });
  gauge(
    'standin_shares_capacity',
    'What namespaces or users share, by pool: requests, calls, connections or bytes. Gateway and dashboard report it.',
    ({ capacity }) => capacity,
  );
  gauge('standin_shares_used', 'What all namespaces or users hold of the pool.', ({ used }) => used);
  gauge(
    'standin_shares_largest',
    'What the namespace or user with the largest share holds of the pool.',
    ({ largestShare }) => largestShare,
  );
  new Counter({
    name: 'standin_shares_refused_total',
    help: 'How often a namespace or user got nothing more from the pool because its share was used up.',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [pool, { refused }] of pools) this.inc({ pool }, refused);
    },
  });
};
