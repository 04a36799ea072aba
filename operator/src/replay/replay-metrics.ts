import { Counter, Gauge, type Registry } from 'prom-client';

export interface ReplayMetrics {
  readonly requests: Counter;
  readonly running: Gauge;
}

/** Creates the metrics, once per operator. `running` returns the count for the current term, if this operator leads. */
export const replayMetrics = (registry: Registry): ReplayMetrics => ({
  requests: new Counter({
    name: 'standin_replay_requests_total',
    help: 'Number of replayed requests',
    labelNames: ['target', 'outcome'],
    registers: [registry],
  }),
  running: new Gauge({
    name: 'standin_replay_running',
    help: 'Number of Replays that this operator is sending',
    registers: [registry],
  }),
});
