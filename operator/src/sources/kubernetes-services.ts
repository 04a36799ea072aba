import type { ServiceListener, ServiceObject, ServiceSource } from '@standin/contract';
import { Reflector, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { logRefusals, missingRight } from '../log-refusals.ts';

interface KubernetesServicesOptions {
  readonly client: KubeClient;
  /** If empty, all namespaces are watched. */
  readonly namespaces: readonly string[];
  readonly logger: Logger;
  readonly registry?: Registry;
}

/** The parts of a Service that are used. */
interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly selector?: Readonly<Record<string, string>> | null;
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly port: number; readonly protocol?: string }[] | null;
  };
}

/** The parts of a Service that are kept in memory. */
interface KeptService extends KubeObject {
  readonly service: ServiceObject;
}

const keep = (object: KubeObject): KeptService => {
  const { metadata, spec = {} } = object as Service;
  const { name, namespace = '', uid = '', resourceVersion = '' } = metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion },
    service: {
      namespace,
      name,
      type: spec.type ?? 'ClusterIP',
      hasSelector: Object.keys(spec.selector ?? {}).length > 0,
      isHeadless: spec.clusterIP === 'None',
      ports: (spec.ports ?? []).flatMap(({ port, protocol = 'TCP' }) => (protocol === 'TCP' ? [port] : [])),
    },
  };
};

/** Watches Services, with one watch per namespace, or a single watch for all namespaces. Logs a missing permission and retries. */
export const kubernetesServices = (options: KubernetesServicesOptions): ServiceSource => ({
  start: async (listener, signal) => {
    const scopes = options.namespaces.length === 0 ? [undefined] : [...new Set(options.namespaces)];
    await Promise.all(scopes.map((namespace) => watch(namespace, listener, signal, options)));
  },
});

const watch = async (
  namespace: string | undefined,
  listener: ServiceListener,
  signal: AbortSignal,
  { client, logger, registry }: KubernetesServicesOptions,
): Promise<void> => {
  const refused = Promise.withResolvers<undefined>();
  const logRefusal = logRefusals(logger, 'services', namespace);
  const reflector = new Reflector<KubeObject>({
    client,
    path: resourcePath({ group: '', version: 'v1', plural: 'services', namespace }),
    resource: 'services',
    namespace,
    handler: {
      put: (object) => listener.putService((object as KeptService).service),
      remove: (object) => listener.removeService((object as KeptService).service),
    },
    transform: keep,
    onRefused: (error) => {
      logRefusal(error);
      listener.servicesIn(namespace, missingRight('Services', namespace));
      refused.resolve(undefined);
    },
    onWatching: () => listener.servicesIn(namespace, undefined),
    logger,
    registry,
  });
  reflector.run(signal).catch((error: unknown) => logger.error({ err: error }, 'reflector ended'));
  const synced = reflector.synced.then(() => listener.servicesIn(namespace, undefined));
  await Promise.race([synced, refused.promise]);
};
