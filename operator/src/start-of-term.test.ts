import { GROUP_VERSION, type Kind } from '@standin/contract';
import { cpuMs } from '@standin/contract/testing';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { Controller } from './controller.ts';
import { expectationController } from './expectations/expectation-controller.ts';
import { keyRegenerationController } from './keys/key-regeneration-controller.ts';
import { MemorySource } from './memory-source.testing.ts';
import { ObjectCache } from './object-cache.ts';
import { purgeController } from './purge/purge-controller.ts';
import { shareController } from './share/share-controller.ts';

const OBJECTS = 5_000;
/** The start of a term is one turn of the event loop, in which the lease is not renewed. */
const START_MS_MAX = 1_000;

const namespaceWith = (parent: Kind, child: Kind, spec: (name: string) => object): ObjectCache => {
  const cache = new ObjectCache();
  const add = (kind: Kind, name: string, content: object): void => {
    const metadata = { name, namespace: 'busy', uid: `${kind} ${name}`, generation: 1, resourceVersion: '1' };
    const creationTimestamp = '2026-01-01T00:00:00Z';
    cache.put({ apiVersion: GROUP_VERSION, kind, metadata: { ...metadata, creationTimestamp }, spec: content });
  };
  // Accounts and Projects are often reported later than what refers to them.
  for (let index = 0; index < OBJECTS; index += 1) add(child, `child-${index}`, spec(`parent-${index}`));
  for (let index = 0; index < OBJECTS; index += 1) add(parent, `parent-${index}`, {});
  return cache;
};

const { objects, secrets, events } = new MemorySource();
const context = (cache: ObjectCache) => ({
  objects,
  secrets,
  events,
  cache,
  logger: pino({ level: 'silent' }),
  registry: new Registry(),
  store: undefined,
  prepareStore: () => Promise.resolve(),
});

const shares = (): Controller =>
  shareController({
    ...context(namespaceWith('Project', 'Share', (name) => ({ projectRef: { name } }))),
    deliveredUpTo: () => 0,
  });
const purges = (): Controller =>
  purgeController({
    ...context(namespaceWith('Project', 'Purge', (name) => ({ projectRef: { name } }))),
    acceptedFinding: () => undefined,
    undelivered: () => [],
    askForReports: () => undefined,
    replays: { storing: () => [] },
  });
const expectations = (): Controller =>
  expectationController({
    ...context(namespaceWith('Project', 'Expectation', (name) => ({ projectRef: { name } }))),
    acceptedFinding: () => undefined,
    settlement: { settle: () => Promise.reject(new Error('no gateways')) },
    ended: { inc: () => undefined },
  });
const regenerations = (): Controller =>
  keyRegenerationController({
    ...context(namespaceWith('Account', 'KeyRegeneration', (name) => ({ accountRef: { name } }))),
    owner: () => undefined,
    readSoon: () => undefined,
    programmed: () => undefined,
    gatewayCount: () => 0,
  });

test.each([
  ['Shares', shares],
  ['Purges', purges],
  ['KeyRegenerations', regenerations],
  ['Expectations', expectations],
])(
  'a term starts quickly beside a namespace with thousands of %s',
  async (_kind, create) => {
    const started: Controller[] = [];
    const start = (): void => {
      const controller = create();
      started.push(controller);
      controller.start?.();
    };
    expect(cpuMs(start, START_MS_MAX)).toBeLessThan(START_MS_MAX);
    for (const controller of started) await controller.stop?.();
  },
  120_000,
);
