import { configKey, type ConfigKey, type ConfigObject } from '@standin/contract';
import type { Logger } from 'pino';
import { GatewayController } from '../../operator/src/gateways/gateway-controller.ts';
import { noGatewayMemory } from '../../operator/src/gateways/gateway-memory.ts';
import { noGatewayPods } from '../../operator/src/gateways/gateway-pods.ts';
import { GatewaySettlement } from '../../operator/src/gateways/settlement.ts';
import { undelivered } from '../../operator/src/purge/undelivered.ts';
import { planCertificates, serverCertificate } from '../../operator/src/publish/certificates.ts';
import { ConfigLog } from '../../operator/src/publish/config-log.ts';
import { StreamServer, type Publication } from '../../operator/src/publish/stream-server.ts';
import { eventually } from '../harness/eventually.ts';

/** The server of the config stream without an operator. The test sets the configuration. The value of a signing secret is its id. */
export interface ConfigStream {
  readonly url: string;
  /** The content of a gateway's `operator.tls.dir`. */
  readonly gatewayFiles: Readonly<Record<'ca.crt' | 'tls.crt' | 'tls.key', string>>;
  publish(objects: readonly ConfigObject[], remove?: readonly ConfigKey[]): number;
  /** Publishes the objects. Resolves when every gateway has acknowledged them, with the rejected objects and the reasons. */
  publishAndAwait(objects: readonly ConfigObject[]): Promise<ReadonlyMap<ConfigKey, string>>;
  close(): Promise<void>;
}

export const startConfigStream = async (logger: Logger): Promise<ConfigStream> => {
  const certificates = await planCertificates(undefined, new Date());
  const server = await StreamServer.listen({
    host: '127.0.0.1',
    port: 0,
    certificate: serverCertificate(certificates),
    logger,
  });
  const log = new ConfigLog(1, (secretId) => Buffer.from(secretId));
  const gateways = new GatewayController({
    epoch: 1,
    forgetMs: 60_000,
    memory: noGatewayMemory,
    isGone: noGatewayPods,
    logger,
    since: (key) => log.since(key),
    revision: () => log.revision.number,
    onChange: () => undefined,
  });
  const quota: Publication['quota'] = {
    request: () => Promise.resolve({ kind: 'no_quota' }),
    report: () => undefined,
    drained: () => Promise.resolve(),
  };
  const refusals: Publication['refusals'] = {
    gather: () => Promise.reject(new Error('not expected')),
    report: () => undefined,
  };
  const settlement = new GatewaySettlement({
    gateways,
    log,
    undelivered: (wanted) => undelivered(gateways, undefined, wanted),
  });
  server.lead({ log, gateways, quota, refusals, settlement, holdsIdentity: () => true });
  const publish = (put: readonly ConfigObject[], remove: readonly ConfigKey[] = []) => log.append({ put, remove });
  return {
    url: `https://127.0.0.1:${server.port}`,
    gatewayFiles: {
      'ca.crt': certificates.caBundle,
      'tls.crt': certificates.gateway.cert,
      'tls.key': certificates.gateway.key,
    },
    publish,
    publishAndAwait: async (objects) => {
      publish(objects);
      const states = () =>
        objects.map((object) => [configKey(object), gateways.programmed(configKey(object))] as const);
      const settled = await eventually('the gateway’s acknowledgement', states, {
        accept: (all) => all.every(([, state]) => state?.kind === 'programmed' || state?.kind === 'rejected'),
        intervalMs: 5,
      });
      return new Map(settled.flatMap(([key, state]) => (state?.kind === 'rejected' ? [[key, state.message]] : [])));
    },
    close: async () => {
      await gateways.stop();
      await server.close();
    },
  };
};
