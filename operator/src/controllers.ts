import { configKey, type ConfigKey } from '@standin/contract';
import { endedOperationsController } from './operations/ended-operations-controller.ts';
import { ClaimController } from './claims/claim-controller.ts';
import type { Controller } from './controller.ts';
import { ControllerManager } from './controller-manager.ts';
import { VolumeController } from './drain/volume-controller.ts';
import { expectationController } from './expectations/expectation-controller.ts';
import { GatewayController } from './gateways/gateway-controller.ts';
import { GatewaySettlement, type GatewaySettlementOptions } from './gateways/settlement.ts';
import { AccountKeyController } from './keys/account-key-controller.ts';
import { keyRegenerationController } from './keys/key-regeneration-controller.ts';
import { KeyChanges } from './keys/key-changes.ts';
import type { ControllerParts } from './operator-parts.ts';
import { purgeController } from './purge/purge-controller.ts';
import { undelivered } from './purge/undelivered.ts';
import { ConfigLog } from './publish/config-log.ts';
import { ConfigPublisher } from './publish/config-publisher.ts';
import type { Term } from './publish/leadership.ts';
import { OrphanedLedgers } from './quota/orphaned-ledgers.ts';
import { QuotaController } from './quota/quota-controller.ts';
import { RefusalGatherer } from './refusals/gather-refusals.ts';
import { ReplayController } from './replay/replay-controller.ts';
import { SecretController } from './secrets/secret-controller.ts';
import { shareController } from './share/share-controller.ts';
import { LastRequests } from './status/last-requests.ts';
import { StatusController } from './status/status-controller.ts';

/** Creates the controllers of one leader's term. A new controller is added to this list. */
export const createControllers = ({ epoch, signal, remainingMs }: Term, parts: ControllerParts) => {
  const { source, desired, translator, server, metrics, registry, settings, ledgers, logStore, audit } = parts;
  const logger = parts.logger.child({ epoch });
  const { store, prepareStore } = parts.replays;
  const { objects, secrets, events } = source;
  const context = { cache: desired.cache, translator, registry, logger };
  const log = new ConfigLog(epoch, (id) => endpointSecrets.secretValue(id));
  const since = (key: ConfigKey): number | undefined => log.since(key);
  const gateways = new GatewayController({
    ...context,
    epoch,
    since,
    forgetMs: settings.stream.gatewayForgetMs,
    memory: parts.gatewayMemory,
    isGone: parts.isGatewayGone,
    revision: () => log.revision.number,
    onChange: (keys) => manager.gatewaysChanged(keys),
  });
  const keys = new AccountKeyController({
    ...context,
    objects,
    secrets,
    events,
    desired,
    pollMs: settings.secretPollMs,
  });
  const endpointSecrets = new SecretController({
    ...context,
    secrets,
    desired,
    pollMs: settings.secretPollMs,
  });
  const claims = parts.claims && new ClaimController({ ...context, desired, ...parts.claims });
  const quota = new QuotaController({
    ...context,
    store: ledgers,
    countPermits: logStore && ((filter) => logStore.permits(filter)),
    limit: (uid) => translator.verdict(uid)?.quota,
    gatewayCount: () => gateways.known.filter(({ connected }) => connected).length,
    isConnected: (gateway, instance) => gateways.isConnected(gateway, instance),
    recall: (account) => log.announce({ type: 'recall', account }),
    onUsage: (uid) => statuses.usageChanged(uid),
  });
  const refusals = new RefusalGatherer({ gateways, log });
  const undeliveredAt: GatewaySettlementOptions['undelivered'] = (wanted) => undelivered(gateways, volumes, wanted);
  const settlement = new GatewaySettlement({ gateways, log, undelivered: undeliveredAt });
  const lastRequests = new LastRequests({ logStore, logger, onChange: (uid) => statuses.enqueue(uid) });
  const statuses = new StatusController({
    ...context,
    objects,
    events,
    metrics,
    gateways,
    since,
    onStatus: parts.onStatus,
    key: (uid) => keys.known(uid),
    usage: (uid) => quota.usage(uid),
    audited: (uid) => (audit === undefined ? {} : audit.audited(uid)),
    lastRequestAt: (project) => lastRequests.at(project),
  });
  const regenerations = keyRegenerationController({
    ...context,
    objects,
    secrets,
    events,
    owner: (uid) => keys.owner(uid),
    readSoon: (uid) => keys.enqueue(uid),
    programmed: (uid, sha256) =>
      keys.isPublished(uid, sha256) ? gateways.revoked(configKey({ kind: 'Account', uid })) : undefined,
    gatewayCount: () => gateways.answeringCount,
  });
  const replays = new ReplayController({
    ...context,
    ...parts.replays,
    objects,
    secrets,
    events,
    secretValue: (id) => endpointSecrets.secretValue(id),
    remainingMs,
  });
  const expectations = expectationController({
    ...context,
    objects,
    events,
    store,
    prepareStore,
    settlement,
    acceptedFinding: (uid) => translator.verdict(uid)?.accepted,
    ended: metrics.expectationsEnded,
  });
  const volumes = parts.spoolVolumes && new VolumeController({ ...context, ...parts.spoolVolumes });
  const list: readonly (Controller | undefined)[] = [
    gateways,
    keys,
    // The claims of all objects include the claims to their keys.
    claims,
    endpointSecrets,
    new ConfigPublisher({ ...context, log, server, gateways, quota, refusals, settlement }),
    new KeyChanges({ ...context, gateways }),
    statuses,
    lastRequests,
    quota,
    new OrphanedLedgers({ ...context, store: ledgers }),
    shareController({
      ...context,
      objects,
      events,
      store,
      prepareStore,
      deliveredUpTo: (project) => gateways.deliveredUpTo(project),
    }),
    replays,
    regenerations,
    purgeController({
      ...context,
      objects,
      events,
      store,
      prepareStore,
      replays,
      acceptedFinding: (uid) => translator.verdict(uid)?.accepted,
      undelivered: undeliveredAt,
      askForReports: () => log.askForAcks(),
    }),
    expectations,
    endedOperationsController({ ...context, objects }),
    volumes,
    audit,
  ];
  const present = list.filter((controller) => controller !== undefined);
  const manager = new ControllerManager(present, logger);
  return {
    manager,
    log,
    gateways,
    quota,
    refusals,
    expectations,
    statuses,
    volumes,
    start: async (): Promise<void> => {
      await manager.start(signal);
      if (manager.isStarted) logger.info({ objects: log.size }, 'leading');
    },
    /** Returns whether all keys and secrets have been read, all claims are recorded, all changes are published, and a gateway has the last revision. */
    isSettled: (): boolean =>
      manager.isStarted &&
      !desired.hasPending &&
      keys.isComplete() &&
      translator.unrecorded().length === 0 &&
      endpointSecrets.isComplete() &&
      gateways.known.some(({ acked }) => acked.number === log.revision.number),
  };
};

export type Controllers = ReturnType<typeof createControllers>;
