import type { Kind, ResourceObject, ServiceObject } from '@standin/contract';
import { Translator } from './translator.ts';
import type { KeyState, TranslateSettings } from './types.ts';

export const SETTINGS: TranslateSettings = {
  gatewayUrl: 'http://gateway',
  checkUpstream: (url) => (url.hostname === '10.0.0.1' ? 'the address is private' : undefined),
  quotaByPlan: { Free: 1, Pro: 2 },
  requestsPerSecondByPlan: { Free: undefined, Pro: undefined },
  clusterDomain: 'cluster.local',
  retentionDaysMax: 365,
  retentionDaysMaxByPlan: { Free: undefined, Pro: 20 },
};

export const KEY = { kind: 'key', sha256: 'a'.repeat(64) } as const satisfies KeyState;

export const make = (
  kind: Kind,
  name: string,
  spec: object,
  metadata: Partial<ResourceObject['metadata']> = {},
): ResourceObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind,
  metadata: {
    name,
    namespace: 'default',
    uid: `${kind} ${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...metadata,
  },
  spec,
});
export const account = make('Account', 'default', {});
export const project = make('Project', 'shop', { accountRef: { name: 'default' } });
export const endpoint = (
  name: string,
  spec: object = {},
  metadata: Partial<ResourceObject['metadata']> = {},
): ResourceObject => {
  const all = { projectRef: { name: 'shop' }, displayName: 'a', slug: '/v1', method: 'GET', action: 'JSON' };
  return make('Endpoint', name, { ...all, json: { body: '{}' }, ...spec }, metadata);
};

/** Returns a translator that has already translated these objects. */
export const createTranslator = (...objects: ResourceObject[]): Translator => {
  const translator = new Translator(SETTINGS);
  for (const object of objects) translator.put(object);
  translator.setKey(account.metadata.uid, KEY);
  translator.flush();
  return translator;
};
export const service = (name: string, more: Partial<ServiceObject> = {}): ServiceObject => ({
  namespace: 'default',
  name,
  type: 'ClusterIP',
  hasSelector: true,
  isHeadless: false,
  ports: [80],
  ...more,
});
