import { Counter, Gauge, type Registry } from 'prom-client';

export interface ReplayMetrics {
  readonly requests: Counter;
  readonly running: Gauge;
}

/** Created once per operator. `running` returns the count of the current term, if this operator leads. */
export const replayMetrics = (registry: Registry): ReplayMetrics => ({
  requests: new Counter({
    name: 'standin_replay_requests_total',
    help: 'Captured requests that were replayed',
    labelNames: ['target', 'outcome'],
    registers: [registry],
  }),
  running: new Gauge({
    name: 'standin_replay_running',
    help: 'Replays that this operator is sending',
    registers: [registry],
  }),
});
