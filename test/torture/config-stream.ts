import { configKey, type ConfigKey, type ConfigObject } from '@standin/contract';
import type { Logger } from 'pino';
import { planCertificates, serverCertificate } from '../../operator/src/publish/certificates.ts';
import { ConfigLog } from '../../operator/src/publish/config-log.ts';
import { GatewayRegistry } from '../../operator/src/publish/gateway-registry.ts';
import { StreamServer, type Publication } from '../../operator/src/publish/stream-server.ts';
import { eventually } from '../harness/eventually.ts';

/** The server of the config stream without an operator. The test sets the configuration. */
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
  const log = new ConfigLog(1);
  const gateways = new GatewayRegistry({
    epoch: 1,
    forgetMs: 60_000,
    onKnown: () => undefined,
    onProgress: () => undefined,
  });
  const quota: Publication['quota'] = {
    ask: () => Promise.resolve({ kind: 'no_quota' }),
    report: () => undefined,
    drained: () => Promise.resolve(),
  };
  server.lead({ log, gateways, quota, remembered: () => Promise.resolve() });
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
      const since = publish(objects);
      const states = () =>
        objects.map((object) => [configKey(object), gateways.programmed(configKey(object), since)] as const);
      const settled = await eventually('the gateway’s acknowledgement', states, {
        accept: (all) => all.every(([, { kind }]) => kind === 'programmed' || kind === 'rejected'),
        intervalMs: 5,
      });
      return new Map(settled.flatMap(([key, state]) => (state.kind === 'rejected' ? [[key, state.message]] : [])));
    },
    close: async () => {
      gateways.close();
      await server.close();
    },
  };
};
