import {
  formatRevision,
  type Action,
  type ProjectConfig,
  type RejectionCode,
  type SharedPool,
} from '@standin/contract';
import { exposeShares } from '@standin/process/process-metrics';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { QuotaGate } from '../admit/quota-gate.ts';
import type { ConfigClient } from '../config/config-client.ts';
import type { ConfigStore } from '../config/config-store.ts';
import type { Delivery } from '../deliver/delivery.ts';
import type { Spool } from '../record/spool/spool.ts';
import type { ByteBudget } from '../request/byte-budget.ts';
import type { Accepted } from '../request/accepted.ts';
import type { UnauthenticatedBudget } from '../verify/unauthenticated-budget.ts';
import { DurationCounts, exposeDurations } from './duration-histogram.ts';
import { ProjectCounts, STATUS_CLASSES } from './project-counts.ts';
import { ResponseCounts } from './response-counts.ts';

/** The sources of the gauges and of most counters, which are read at each scrape. */
export interface Observed {
  readonly store: ConfigStore;
  readonly client: ConfigClient;
  readonly gate: QuotaGate;
  readonly delivery: Delivery;
  readonly spool: Spool;
  readonly budget: ByteBudget;
  readonly unauthenticated: UnauthenticatedBudget;
  readonly runningRequests: () => number;
  /** What namespaces share, by the name of the pool. */
  readonly shares: Readonly<Record<string, SharedPool>>;
  readonly connectionCount: () => Promise<number>;
}

/** Returns functions that add metrics whose values are read at each scrape. */
const readers = (registry: Registry) => {
  const gauge = (name: string, help: string, value: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await value());
      },
    });
  const counter = (name: string, help: string, value: () => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  return { gauge, counter };
};

/** The gateway's metrics. Requests are counted in plain numbers, from which Prometheus' counters are filled at each scrape. */
export class Metrics {
  readonly registry: Registry;
  readonly #statusCounts: Record<Action, number[]> = { JSON: [0, 0, 0, 0, 0, 0], Forward: [0, 0, 0, 0, 0, 0] };
  readonly #rejections = new Map<RejectionCode, number>();
  readonly #responses = new ResponseCounts();
  readonly #projects = new ProjectCounts();
  readonly #durations: Record<Action, DurationCounts> = { JSON: new DurationCounts(), Forward: new DurationCounts() };

  constructor(registry: Registry) {
    this.registry = registry;
    const registers = [this.registry];
    const statusCounts = this.#statusCounts;
    const rejections = this.#rejections;
    new Counter({
      name: 'standin_respond_requests_total',
      help: 'Accepted requests, by action and by the class of the status that callers got.',
      labelNames: ['action', 'status'],
      registers,
      collect() {
        this.reset();
        for (const [action, counts] of Object.entries(statusCounts)) {
          for (const [index, count] of counts.entries()) {
            if (count > 0) this.inc({ action, status: STATUS_CLASSES[index] ?? '' }, count);
          }
        }
      },
    });
    new Counter({
      name: 'standin_receive_rejections_total',
      help: 'Rejected requests, by code (docs/reference/errors.md).',
      labelNames: ['code'],
      registers,
      collect() {
        this.reset();
        for (const [code, count] of rejections) this.inc({ code }, count);
      },
    });
    const durations = this.#durations;
    exposeDurations(registry, {
      name: 'standin_respond_duration_seconds',
      help: 'Time from the arrival of the request head to the last byte of the response, without the delay of a mock.',
      read: () => Object.entries(durations).map(([action, counts]) => [{ action }, counts]),
    });
  }

  responded({ route, responder }: Pick<Accepted, 'route' | 'responder'>, status: number, durationMs: number): void {
    const counts = this.#statusCounts[responder.kind];
    const index = Math.floor(status / 100);
    counts[index] = (counts[index] ?? 0) + 1;
    this.#durations[responder.kind].add(durationMs / 1000);
    this.#responses.add(route.endpoint, responder);
    this.#projects.responded(route.project, index, durationMs / 1000);
  }

  /** @param project the project whose URI the target contains, if it is known */
  refused(code: RejectionCode, project?: ProjectConfig): void {
    this.#rejections.set(code, (this.#rejections.get(code) ?? 0) + 1);
    if (project !== undefined) this.#projects.refused(project, code);
  }

  observe(observed: Observed): void {
    const { store, client, gate, delivery, spool, budget, unauthenticated, runningRequests, connectionCount } =
      observed;
    exposeShares(this.registry, new Map(Object.entries(observed.shares)));
    const { registry } = this;
    const { gauge, counter } = readers(registry);
    const since = (ms: number | undefined) => (ms === undefined ? 0 : (performance.now() - ms) / 1000);

    gauge('standin_receive_connections', 'Open connections from callers.', connectionCount);
    gauge('standin_receive_running_requests', 'Requests in progress.', runningRequests);
    gauge('standin_receive_held_bytes', 'Memory held for requests in progress.', () => budget.receivedBytes);
    gauge(
      'standin_verify_unauthenticated_bytes',
      'Memory held for requests whose signature is not verified yet.',
      () => unauthenticated.receivedBytes,
    );
    gauge(
      'standin_verify_unauthenticated_requests',
      'Requests whose signature is not verified yet, because their body is arriving.',
      () => unauthenticated.requests.used,
    );
    counter(
      'standin_verify_displaced_total',
      'Requests refused before their signature was verified, to make room for newer ones.',
      () => unauthenticated.displaced,
    );
    gauge('standin_admit_permits', 'Quota permits that this gateway holds.', () => gate.permitsLeft);
    counter('standin_admit_failures_total', 'Permit requests that failed.', () => gate.failedAsks);
    gauge('standin_record_waiting_bytes', 'Bytes of log rows waiting for the disk.', () => budget.unrecordedBytes);
    gauge('standin_record_full', '1 while requests are rejected because they cannot be stored.', () =>
      Number(spool.isFull),
    );
    gauge('standin_record_disk_free_bytes', "Free bytes on the spool's disk.", () => spool.guard.freeBytes);
    counter('standin_record_commits_total', 'Writes to the spool, each with all waiting rows.', () => spool.commits);
    counter('standin_record_failures_total', 'Failed writes to the spool.', () => spool.failedCommits);
    gauge(
      'standin_deliver_backlog_bytes',
      'Bytes of undelivered log rows on disk, including those of earlier processes.',
      () => Math.max(0, spool.guard.storedBytes),
    );
    gauge('standin_deliver_failing_seconds', 'Seconds since inserts began to fail, or 0 if they succeed.', () =>
      since(delivery.failingSinceMs),
    );
    counter('standin_deliver_rows_total', 'Log rows delivered to ClickHouse.', () => delivery.deliveredRows);
    counter('standin_deliver_batches_total', 'Inserts acknowledged by ClickHouse.', () => delivery.deliveredBatches);
    counter(
      'standin_deliver_failures_total',
      'Failed calls to ClickHouse. They are retried.',
      () => delivery.failedAttempts,
    );
    gauge(
      'standin_deliver_quarantine',
      'Rows and damaged records in quarantine. Alert above 0.',
      () => delivery.quarantined,
    );
    counter('standin_deliver_damaged_total', 'Damaged records found on disk.', () => delivery.damagedRecords);
    gauge('standin_config_objects', 'Objects in the active configuration.', () => store.objectCount);
    gauge('standin_config_rejected_objects', 'Objects that this gateway cannot serve.', () => store.rejectedCount);
    gauge('standin_config_connected', '1 while the config stream is open.', () => Number(client.isConnected));
    gauge(
      'standin_config_age_seconds',
      'Seconds since the last message from the operator, or -1 before the first one.',
      () => {
        const ageMs = store.ageMs(performance.now());
        return ageMs === undefined ? -1 : ageMs / 1000;
      },
    );
    this.#responses.expose(registry, (uid) => store.endpoint(uid));
    this.#projects.expose(registry, store);
    new Gauge({
      name: 'standin_config_revision_info',
      help: 'The active revision and its source.',
      labelNames: ['revision', 'source'],
      registers: [registry],
      collect() {
        this.reset();
        this.set({ revision: formatRevision(store.revision), source: store.isFromDisk ? 'disk' : 'stream' }, 1);
      },
    });
  }
}
