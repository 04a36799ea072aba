// client-node has no metrics of its calls and informers.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Creates metrics once per registry, so that several clients, reflectors or queues in one process can share them. */
const perRegistry = <T>(create: (registry: Registry) => T): ((registry: Registry) => T) => {
  const created = new WeakMap<Registry, T>();
  return (registry) => {
    const existing = created.get(registry);
    if (existing !== undefined) return existing;
    const metrics = create(registry);
    created.set(registry, metrics);
    return metrics;
  };
};

export const clientMetrics = perRegistry((registry) => ({
  requests: new Counter({
    name: 'rest_client_requests_total',
    help: 'HTTP requests to the Kubernetes API server, by status code, method and host. The code is <error> if there was no response.',
    labelNames: ['code', 'method', 'host'],
    registers: [registry],
  }),
}));

/** The reflector state that the gauges need. */
export interface StalenessProbe {
  readonly resource: string;
  readonly namespace: string;
  /** Returns undefined before the first response. */
  secondsSinceContact(): number | undefined;
  size(): number;
}

/** The label is not `namespace`, because Prometheus uses that name for the namespace of the scraped pod. */
export const reflectorLabels = ({ resource, namespace }: Pick<StalenessProbe, 'resource' | 'namespace'>) => ({
  resource,
  exported_namespace: namespace,
});

export const reflectorMetrics = perRegistry((registry) => {
  const reflectors = new Set<StalenessProbe>();
  const labelNames = ['resource', 'exported_namespace'] as const;
  new Gauge({
    name: 'standin_reflector_last_sync_seconds',
    help: 'Seconds since the API server last sent anything (list, event or bookmark). Stays below 90 for a healthy watch.',
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const probe of reflectors) {
        const seconds = probe.secondsSinceContact();
        if (seconds !== undefined) this.set(reflectorLabels(probe), seconds);
      }
    },
  });
  new Gauge({
    name: 'standin_reflector_objects',
    help: 'Objects in the store.',
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const probe of reflectors) this.set(reflectorLabels(probe), probe.size());
    },
  });
  return {
    reflectors,
    lists: new Counter({
      name: 'standin_reflector_lists_total',
      help: 'Full lists: the first one, and one after each gap that a watch cannot close.',
      labelNames,
      registers: [registry],
    }),
    restarts: new Counter({
      name: 'standin_reflector_watch_restarts_total',
      help: 'Watches that ended, by reason.',
      labelNames: [...labelNames, 'reason'],
      registers: [registry],
    }),
    handlerErrors: new Counter({
      name: 'standin_reflector_handler_errors_total',
      help: 'Exceptions thrown by callbacks. Each one is a bug.',
      labelNames,
      registers: [registry],
    }),
  };
});

/** Upper bounds of the histogram buckets, in seconds. */
const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The queue state that the gauges need. */
export interface QueueProbe {
  readonly name: string;
  depth(): number;
  /** Returns the seconds since the start of each running item. */
  runningSeconds(): number[];
}

/** Uses the metric names of client-go and controller-runtime, so that existing dashboards work. */
export const workQueueMetrics = perRegistry((registry) => {
  const queues = new Set<QueueProbe>();
  const registers = [registry];
  const perQueue = (name: string, help: string, value: (queue: QueueProbe) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['name', 'controller'],
      registers,
      collect() {
        this.reset();
        for (const queue of queues) this.set({ name: queue.name, controller: queue.name }, value(queue));
      },
    });
  perQueue('workqueue_depth', 'Items waiting for a worker.', (queue) => queue.depth());
  perQueue('workqueue_unfinished_work_seconds', 'Seconds of work in progress, summed across all workers.', (queue) =>
    queue.runningSeconds().reduce((sum, seconds) => sum + seconds, 0),
  );
  perQueue(
    'workqueue_longest_running_processor_seconds',
    'Seconds that the longest-running worker has been running.',
    (queue) => Math.max(0, ...queue.runningSeconds()),
  );
  const queueCounter = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ['name', 'controller'], registers });
  const queueHistogram = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: ['name', 'controller'], buckets: DURATION_BUCKETS, registers });
  const controllerCounter = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ['controller'], registers });
  const controllerGauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['controller'], registers });
  controllerCounter(
    'controller_runtime_terminal_reconcile_errors_total',
    'Reconciliations that failed and are not retried. Always 0, because every failure is retried.',
  );
  return {
    queues,
    adds: queueCounter('workqueue_adds_total', 'Items added.'),
    retries: queueCounter('workqueue_retries_total', 'Items added again after a failure.'),
    waited: queueHistogram('workqueue_queue_duration_seconds', 'Seconds that an item waited for a worker.'),
    worked: queueHistogram('workqueue_work_duration_seconds', 'Seconds that a worker took to process an item.'),
    reconciles: new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Reconciliations by result.',
      labelNames: ['controller', 'result'],
      registers,
    }),
    errors: controllerCounter('controller_runtime_reconcile_errors_total', 'Reconciliations that failed.'),
    reconcileSeconds: new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'Seconds per reconciliation.',
      labelNames: ['controller'],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    maxConcurrent: controllerGauge('controller_runtime_max_concurrent_reconciles', 'Workers.'),
    active: controllerGauge('controller_runtime_active_workers', 'Busy workers.'),
  };
});

export const leaderMetrics = perRegistry((registry) => ({
  master: new Gauge({
    name: 'leader_election_master_status',
    help: '1 while this process is the leader.',
    labelNames: ['name'],
    registers: [registry],
  }),
}));
