import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import {
  configObjectSchema,
  LIMITS,
  type ConfigMapObject,
  type Kind,
  type ResourceObject,
  type ServiceObject,
} from '@standin/contract';
import { parseManifest } from '@standin/crds';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { translate, type World } from './translate.ts';
import type { Finding, KeyState, SecretState, SecretValue, TranslateSettings } from './types.ts';

const FOLDER = path.join(import.meta.dirname, 'testdata');

const SETTINGS: TranslateSettings = {
  gatewayUrl: 'https://mocks.example.com',
  checkUpstream: (url) => (url.hostname === '10.0.0.1' ? 'the address 10.0.0.1 is private' : undefined),
  quotaByPlan: { Free: 1_000, Pro: 100_000 },
  requestsPerSecondByPlan: { Free: undefined, Pro: 50 },
  clusterDomain: 'cluster.local',
  retentionDaysMax: 90,
  retentionDaysMaxByPlan: { Free: undefined, Pro: 60 },
};

interface Input {
  readonly kind: Kind;
  readonly apiVersion: string;
  readonly metadata: { readonly name: string } & Partial<ResourceObject['metadata']>;
  readonly spec: unknown;
}

interface Extras {
  readonly keys?: Record<string, KeyState>;
  readonly services?: readonly ServiceObject[];
  readonly configMaps?: readonly ConfigMapObject[];
  readonly secrets?: Record<string, SecretInput>;
}
type Found = Extract<SecretState, { kind: 'found' }>;
type SecretInput =
  | Exclude<SecretState, Found>
  | (Omit<Found, 'upstreamOrigins' | 'values'> & {
      readonly upstreamOrigins: readonly string[];
      readonly values: Record<string, SecretValue>;
    });
const isExtra = (value: object): value is Extras =>
  ['keys', 'services', 'configMaps', 'secrets'].some((name) => name in value);

const secretState = (input: SecretInput): SecretState =>
  input.kind === 'found'
    ? { ...input, upstreamOrigins: new Set(input.upstreamOrigins), values: new Map(Object.entries(input.values)) }
    : input;

/**
 * Parses a stream of manifests and fills in their metadata. A `keys` document (account → state), a `services` document (all
 * Services), a `configMaps` document (all ConfigMaps with certificates) or a `secrets` document (Secret in the namespace `default` → state)
 * may follow at the end.
 */
const readWorld = (text: string): World => {
  const { documents, problems } = parseManifest(text);
  expect(problems).toEqual([]);
  const values = documents.map(({ value }) => value as Input | Extras);
  const inputs = values.flatMap((value) => (isExtra(value) ? [] : [value]));
  const {
    keys = {},
    services,
    configMaps = [],
    secrets = {},
  }: Extras = Object.assign({}, ...values.filter(isExtra)) as Extras;
  const objects = inputs.map(({ apiVersion, kind, metadata, spec }, index) => ({
    apiVersion,
    kind,
    metadata: {
      namespace: 'default',
      uid: `${kind}-${metadata.namespace ?? 'default'}-${metadata.name}`.toLowerCase(),
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: `2026-01-01T00:00:${String(index).padStart(2, '0')}Z`,
      ...metadata,
    },
    spec,
  }));
  const accounts = objects.filter(({ kind }) => kind === 'Account');
  const keyState = ({ uid, name }: ResourceObject['metadata']): KeyState =>
    keys[name] ?? { kind: 'key', sha256: createHash('sha256').update(uid).digest('hex') };
  return {
    objects,
    keys: new Map(accounts.map(({ metadata }) => [metadata.uid, keyState(metadata)])),
    ...(services !== undefined && { services }),
    configMaps,
    secrets: Object.entries(secrets).map(([name, input]) => ({
      namespace: 'default',
      name,
      state: secretState(input),
    })),
  };
};

const show = ({ ok, reason, message, path: field }: Finding): string =>
  `${ok ? 'True' : 'False'} ${reason}${field === undefined ? '' : ` (${field})`}: ${message}`;

/** Returns the translation in a readable form. */
const readable = (world: World): string => {
  const { objects, verdicts } = translate(world, SETTINGS);
  for (const object of objects) configObjectSchema.parse(object);
  const shown = verdicts.map(({ ref, accepted, resolvedRefs, configKey, status, keySecret }) => ({
    object: `${ref.kind} ${ref.namespace}/${ref.name}`,
    accepted: show(accepted),
    resolvedRefs: show(resolvedRefs),
    ...(configKey === undefined && { served: false }),
    status,
    ...(keySecret && { keySecret }),
  }));
  return stringify({ verdicts: shown, config: objects }, { lineWidth: 0, aliasDuplicateObjects: false });
};

describe('the translation (vitest -u rewrites the golden cases)', () => {
  const cases = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.in.yaml'))
    .map((file) => path.basename(file, '.in.yaml'));

  it.each(cases)('matches the golden case %s', async (name) => {
    const world = readWorld(readFileSync(path.join(FOLDER, `${name}.in.yaml`), 'utf8'));
    await expect(readable(world)).toMatchFileSnapshot(path.join(FOLDER, `${name}.out.yaml`));
  });

  it('contains only messages within the limit', () => {
    for (const name of cases) {
      const world = readWorld(readFileSync(path.join(FOLDER, `${name}.in.yaml`), 'utf8'));
      for (const { accepted, resolvedRefs } of translate(world, SETTINGS).verdicts) {
        expect(accepted.message.length).toBeLessThanOrEqual(LIMITS.conditionMessageLengthMax);
        expect(resolvedRefs.message.length).toBeLessThanOrEqual(LIMITS.conditionMessageLengthMax);
      }
    }
  });
});
