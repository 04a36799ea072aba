import { Counter, Gauge, type Registry } from 'prom-client';

export interface ReplayMetrics {
  readonly requests: Counter;
  readonly running: Gauge;
}

/** Creates the metrics of replays. Called once per operator, not once per term, because a registry accepts each name only once. */
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
