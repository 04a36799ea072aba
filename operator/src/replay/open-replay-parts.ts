import { createEgress, type RefusedTargets } from '@standin/egress';
import { systemClock } from '@standin/kube';
import type { LogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { retentionSettings, type OperatorSettings } from '../settings.ts';
import { replayMetrics } from './replay-metrics.ts';
import type { ReplayParts } from './replay-run.ts';

export interface OpenReplayParts extends Omit<
  ReplayParts,
  'objects' | 'secrets' | 'secretValue' | 'events' | 'cache' | 'translator' | 'logger' | 'remainingMs'
> {
  close(): Promise<void>;
}

/** Some clusters use this range for pods and Services. See CLUSTER in packages/egress. */
const POD_ADDRESSES = '100.64.0.0/10';

interface ReplayNeeds {
  readonly settings: OperatorSettings;
  readonly store: LogStore | undefined;
  readonly registry: Registry;
  readonly refused: RefusedTargets;
  readonly logger: Logger;
}

/** Opens the resources that replays need as long as the operator runs. */
export const openReplayParts = ({ settings, store, registry, refused, logger }: ReplayNeeds): OpenReplayParts => {
  const { egress, gatewayUrl, replay, clickhouse, clusterDomain } = settings;
  const ca = egress.ca === undefined ? {} : { ca: egress.ca };
  // The gateways may have private addresses, because the administrator sets their URL. All other addresses are set by users.
  const gateway = createEgress({ policy: { allowPrivate: true, allow: [POD_ADDRESSES] }, logger, ...ca });
  const upstream = createEgress({ policy: egress, refused, logger, ...ca });
  let migrated: Promise<void> | undefined;
  const migrateOnce = (): Promise<void> => {
    if (store === undefined || !clickhouse.migrate) return Promise.resolve();
    migrated ??= store.migrate();
    // After a failure, the next caller tries again.
    migrated.catch(() => (migrated = undefined));
    return migrated;
  };
  return {
    store,
    prepareStore: migrateOnce,
    egress: { gateway, upstream },
    gatewayUrl: replay.gatewayUrl ?? gatewayUrl,
    clusterDomain,
    ...retentionSettings(settings),
    metrics: replayMetrics(registry),
    clock: systemClock,
    close: async () => {
      await Promise.all([gateway.close(), upstream.close()]);
    },
  };
};
