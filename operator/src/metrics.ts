import { FairSelection, LIMITS, type ObjectMeta, type ResourceObject } from '@standin/contract';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { VolumeController } from './drain/volume-controller.ts';
import type { ExpectationController } from './expectations/expectation-controller.ts';
import type { GatewayController } from './gateways/gateway-controller.ts';
import type { ConfigLog } from './publish/config-log.ts';
import type { QuotaController } from './quota/quota-controller.ts';
import { shownUsage, type QuotaUsage } from './quota/usage.ts';

/** Metrics that are updated where the events happen. */
export interface OperatorMetrics {
  readonly programmedSeconds: Histogram;
  readonly statusWrites: Counter;
  readonly ledgerWrites: Counter;
  readonly expectationsEnded: Counter;
}

/** State that is read on each scrape. */
export interface MetricsView {
  objects(): Iterable<ResourceObject>;
  /** Returns the state of the current term, or undefined while this operator is not the leader. */
  leading():
    | {
        readonly log: Pick<ConfigLog, 'revision'>;
        readonly gateways: Pick<GatewayController, 'known'>;
        readonly volumes: Pick<VolumeController, 'states'> | undefined;
        readonly quota: Pick<QuotaController, 'usage'>;
        readonly expectations: Pick<ExpectationController, 'openCount'>;
      }
    | undefined;
}

/**
 * Creates the operator's own metrics. Their names begin with `standin_`. Runtime metrics have controller-runtime's names
 * (packages/kube).
 */
export const operatorMetrics = (registry: Registry, view: MetricsView): OperatorMetrics => {
  const registers = [registry];
  new Gauge({
    name: 'standin_translate_objects',
    help: 'Known objects, valid or invalid',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const { kind } of view.objects()) this.inc({ kind });
    },
  });
  new Gauge({
    name: 'standin_publish_revision',
    help: 'Number of the latest revision. The epoch label identifies the leader',
    labelNames: ['epoch'],
    registers,
    collect() {
      this.reset();
      const revision = view.leading()?.log.revision;
      if (revision !== undefined) this.set({ epoch: revision.epoch }, revision.number);
    },
  });
  new Gauge({
    name: 'standin_publish_gateway_revision',
    help: 'Number of the latest revision that each known gateway has acknowledged',
    labelNames: ['gateway', 'connected'],
    registers,
    collect() {
      this.reset();
      for (const { name, connected, acked } of view.leading()?.gateways.known ?? []) {
        this.set({ gateway: name, connected: String(connected) }, acked.number);
      }
    },
  });
  new Gauge({
    name: 'standin_drain_volumes',
    help: 'Gateway volumes, by drain state',
    labelNames: ['state'],
    registers,
    collect() {
      this.reset();
      for (const state of view.leading()?.volumes?.states.values() ?? []) this.inc({ state });
    },
  });
  new Gauge({
    name: 'standin_expectations_open',
    help: 'Number of Expectations whose requests are counted',
    registers,
    collect() {
      this.set(view.leading()?.expectations.openCount ?? 0);
    },
  });
  usageGauges(registers, view);
  return {
    programmedSeconds: new Histogram({
      name: 'standin_publish_programmed_seconds',
      help: 'Time from the publication of a revision until all known gateways have acknowledged it',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
      registers,
    }),
    statusWrites: new Counter({ name: 'standin_status_writes_total', help: 'Number of status writes', registers }),
    ledgerWrites: new Counter({
      name: 'standin_quota_ledger_writes_total',
      help: 'Number of quota ledger writes',
      registers,
    }),
    expectationsEnded: new Counter({
      name: 'standin_expectations_ended_total',
      help: 'Number of Expectations that have ended, by result: met, unmet or undetermined',
      labelNames: ['result'],
      registers,
    }),
  };
};

/** Creates the gauges for the accepted requests and the quota of accounts that have a quota, up to `LIMITS.accountSeriesMax`. */
const usageGauges = (registers: Registry[], view: MetricsView): void => {
  const usageGauge = (name: string, help: string, value: (usage: QuotaUsage) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['exported_namespace', 'account'],
      registers,
      collect() {
        this.reset();
        const leader = view.leading();
        const usages: { readonly metadata: ObjectMeta; readonly usage: QuotaUsage }[] = [];
        const shown = new FairSelection(LIMITS.accountSeriesMax);
        for (const { kind, metadata, status } of view.objects()) {
          const known = kind === 'Account' ? leader?.quota.usage(metadata.uid) : undefined;
          const usage = known && shownUsage(known, status, known);
          if (usage === undefined) continue;
          usages.push({ metadata, usage });
          shown.add(metadata.namespace, metadata.name);
        }
        for (const { metadata, usage } of usages) {
          if (!shown.has(metadata.namespace, metadata.name)) continue;
          this.set({ exported_namespace: metadata.namespace, account: metadata.name }, value(usage));
        }
      },
    });
  usageGauge(
    'standin_quota_accepted',
    'Requests accepted this month, for accounts with a quota, up to a maximum number of accounts',
    (usage) => usage.accepted,
  );
  usageGauge('standin_quota_limit', 'Requests that may be accepted in a month', (usage) => usage.quota);
};
