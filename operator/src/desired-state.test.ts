import { LIMITS, type ResourceObject, type ServiceObject } from '@standin/contract';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DesiredState } from './desired-state.ts';
import { operatorSettings, translateSettings } from './settings.ts';
import { Translator, type Changes, type TranslateSettings } from './translate/index.ts';

const HOLD_OFF_MS = 5;

const object = (name: string, generation: number, spec: unknown): ResourceObject => ({
  apiVersion: 'standin.dev/v1alpha1',
  kind: 'Endpoint',
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    generation,
    resourceVersion: String(generation),
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec,
});
const endpoint = (name: string, generation = 1, body = '{}'): ResourceObject =>
  object(name, generation, {
    projectRef: { name: 'shop' },
    displayName: name,
    slug: `/${name}`,
    method: 'GET',
    action: 'JSON',
    json: { body },
  });
const forward = (name: string, to: object = { url: 'https://api.example.com/' }): ResourceObject =>
  object(name, 1, {
    projectRef: { name: 'shop' },
    displayName: name,
    slug: `/${name}`,
    method: 'GET',
    action: 'Forward',
    forward: to,
  });

let changes: Changes[];
/** The names of the reported objects, with the generation of the earlier version. */
let seen: string[];
let removed: string[];

const desiredState = (settings: Partial<TranslateSettings> = {}): DesiredState => {
  changes = [];
  seen = [];
  removed = [];
  return new DesiredState({
    translator: new Translator({ ...translateSettings(operatorSettings.parse({})), ...settings }),
    holdOffMs: HOLD_OFF_MS,
    logger: pino({ level: 'silent' }),
    onSeen: ({ metadata }, before) => seen.push(`${metadata.name} ${String(before?.metadata.generation)}`),
    onChanges: (all) => changes.push(all),
    onRemoved: ({ metadata }) => removed.push(metadata.name),
    onProblems: () => undefined,
  });
};

let desired: DesiredState;
beforeEach(() => {
  desired = desiredState();
});

const verdicts = (): string[] =>
  changes.flatMap((each) => each.verdicts.map(({ ref, generation }) => `${ref.name} ${generation}`));

test('an object is found by its name, also if the removal of an earlier one with that name is reported late', () => {
  const [first, second] = [endpoint('a'), endpoint('a')].map((one, index) => ({
    ...one,
    metadata: { ...one.metadata, uid: `uid-${index}` },
  })) as [ResourceObject, ResourceObject];
  const ref = { kind: 'Endpoint', namespace: 'default', name: 'a' } as const;
  desired.put(first);
  expect(desired.cache.find(ref)).toBe(first);
  desired.put(second);
  desired.remove(first);
  expect(desired.cache.find(ref)).toBe(second);
  desired.remove(second);
  expect(desired.cache.find(ref)).toBeUndefined();
});

test('an object that exceeds the limit of its namespace, and no longer does, is translated again at the same generation', () => {
  const reasons = (): unknown[] => changes.flatMap((each) => each.verdicts.map(({ accepted }) => accepted.reason));
  for (const each of [
    endpoint('a'),
    { ...endpoint('a'), spec: undefined, isBeyondLimit: true as const },
    endpoint('a'),
  ]) {
    desired.put(each);
    desired.flush();
  }
  expect(reasons()).toEqual(['Accepted', 'LimitReached', 'Accepted']);
});

test('changes within the hold-off are emitted together, and a flush ends the hold-off', async () => {
  desired.put(endpoint('a'));
  desired.put(endpoint('b'));
  expect([seen, changes, desired.hasPending]).toEqual([['a undefined', 'b undefined'], [], true]);
  await vi.waitFor(() => expect(verdicts()).toEqual(['a 1', 'b 1']));
  expect([changes.length, desired.hasPending]).toEqual([1, false]);
  desired.put(endpoint('a', 2));
  desired.flush();
  expect(verdicts()).toEqual(['a 1', 'b 1', 'a 2']);
});

test('an object without relevant changes is reported with its earlier version, and changes nothing', () => {
  desired.put(endpoint('a'));
  desired.flush();
  desired.put({ ...endpoint('a'), status: {} });
  desired.flush();
  expect(seen).toEqual(['a undefined', 'a 1']);
  expect([changes.length, desired.cache.size]).toEqual([1, 1]);
});

test('objects return to earlier generations when the API server’s database is restored', () => {
  desired.put(endpoint('a', 7));
  desired.flush();
  desired.put(endpoint('a', 5));
  desired.flush();
  expect(verdicts()).toEqual(['a 7', 'a 5']);
});

test('a removed object is reported, and a successor with the same name is a different object', () => {
  desired.put(endpoint('a'));
  desired.remove(endpoint('a'));
  desired.put({ ...endpoint('a'), metadata: { ...endpoint('a').metadata, uid: 'uid-successor' } });
  desired.flush();
  expect([removed, Array.from(desired.cache.values(), ({ metadata }) => metadata.uid)]).toEqual([
    ['a'],
    ['uid-successor'],
  ]);
});

test('an object whose translation fails gets a condition and does not affect others', () => {
  desired = desiredState({
    checkUpstream: () => {
      throw new Error('a bug');
    },
  });
  desired.put(forward('bad'));
  desired.put(endpoint('good'));
  desired.flush();
  const [bad, good] = changes[0]?.verdicts ?? [];
  expect(bad?.accepted).toMatchObject({ ok: false, reason: 'Invalid' });
  expect(bad?.accepted.message).toContain('a bug in Standin');
  expect(good?.accepted.ok).toBe(true);
});

test('nothing is emitted after the end', () => {
  vi.useFakeTimers();
  desired.put(endpoint('a'));
  desired.close();
  desired.put(endpoint('b'));
  vi.advanceTimersByTime(2 * HOLD_OFF_MS);
  vi.useRealTimers();
  expect(changes).toEqual([]);
});

describe('a namespace in which small changes affect thousands of objects', () => {
  const COUNT = LIMITS.dependentsBurst / 2;
  const resource = (kind: 'Account' | 'Project', name: string, spec: object): ResourceObject => {
    const made = object(name, 1, spec);
    return { ...made, kind, metadata: { ...made.metadata, uid: `${kind} ${name}` } };
  };
  const account = resource('Account', 'team', {});
  const project = resource('Project', 'shop', { accountRef: { name: 'team' } });
  const toService = (name: string) => forward(name, { serviceRef: { name: 'orders', port: 80 } });
  const service = (hasSelector: boolean): ServiceObject => ({
    namespace: 'default',
    name: 'orders',
    type: 'ClusterIP',
    isHeadless: false,
    ports: [80],
    hasSelector,
  });
  /** Ends the hold-off. Returns how many objects are sent to the gateways again, and how many are removed from them. */
  const sent = (): readonly [put: number, remove: number] => {
    vi.advanceTimersByTime(HOLD_OFF_MS);
    const all = changes.splice(0);
    return [all.flatMap(({ put }) => put).length, all.flatMap(({ remove }) => remove).length];
  };

  beforeEach(() => {
    vi.useFakeTimers();
    desired.servicesIn(undefined, undefined);
    desired.putService(service(true));
    for (const each of [account, project]) desired.put(each);
    for (let n = 0; n < COUNT; n++) desired.put(toService(`e${n}`));
    desired.synced();
    changes.splice(0);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const flip = (hasSelector: boolean) => {
    desired.putService(service(hasSelector));
    return sent();
  };

  test('stops trusting a Service immediately, and trusts it again later if this happens repeatedly', () => {
    expect([false, true, false].map(flip)).toEqual([
      [COUNT, 0],
      [COUNT, 0],
      [COUNT, 0],
    ]);
    expect([true, false, true].map(flip)).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    expect(desired.hasPending).toBe(true);
    vi.advanceTimersByTime((COUNT / LIMITS.dependentsPerSecond) * 1_000);
    expect(sent()).toEqual([COUNT, 0]);
    expect([flip(false), desired.hasPending]).toEqual([[COUNT, 0], false]);
  });

  test('removes the certificates of a ConfigMap beyond the limit immediately', () => {
    const ca = { namespace: 'default', name: 'ca', data: { 'ca.crt': { certificates: 'A' } } };
    desired.configMaps.put(ca);
    expect(sent()).toEqual([1, 0]);
    for (const hasSelector of [false, true, false]) flip(hasSelector);
    desired.configMaps.put({ ...ca, data: undefined });
    expect(sent()).toEqual([0, 1]);
    desired.configMaps.put(ca);
    expect(sent()).toEqual([0, 0]);
  });

  test('removes an object immediately, and adds it again later if this happens repeatedly', () => {
    const remove = () => {
      desired.remove(project);
      return sent();
    };
    const put = () => {
      desired.put(project);
      return sent();
    };
    expect([remove(), put(), remove()]).toEqual([
      [0, COUNT + 1],
      [COUNT + 1, 0],
      [0, COUNT + 1],
    ]);
    expect([put(), remove(), put()]).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    vi.advanceTimersByTime((COUNT / LIMITS.dependentsPerSecond) * 1_000);
    expect(sent()).toEqual([COUNT + 1, 0]);
  });

  test('does not slow down other namespaces, nor an object that is removed while it waits', () => {
    for (const hasSelector of [false, true, false]) flip(hasSelector);
    const waiting = { ...project, metadata: { ...project.metadata, generation: 2 } };
    desired.put({ ...waiting, spec: { accountRef: { name: 'team' }, retentionDays: 7 } });
    desired.put({ ...account, metadata: { ...account.metadata, namespace: 'other', uid: 'other' } });
    expect(sent()).toEqual([1, 0]);
    desired.remove(project);
    expect(sent()).toEqual([0, COUNT + 1]);
    vi.advanceTimersByTime(60_000);
    expect([sent(), desired.hasPending]).toEqual([[0, 0], false]);
  });
});
