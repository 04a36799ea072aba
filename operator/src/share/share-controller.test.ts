import { LIMITS } from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import { LogStoreError } from '@standin/logstore';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import type { Controller } from '../controller.ts';
import { shareController, type ShareControllerOptions } from './share-controller.ts';

const HOUR_MS = 3_600_000;
/** About an hour after the creation time that MemorySource gives to objects. */
const NOW = Date.UTC(2026, 0, 1, 1);
const at = (ms: number): string => new Date(ms).toISOString().replace('.000', '');
const SPEC = {
  projectRef: { name: 'shop' },
  requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe',
  tokenSha256: '0f'.repeat(32),
  expiresAt: at(NOW + HOUR_MS),
};

let source: MemorySource;
let controller: Controller;
let now: number;
/** The log: the uid of each request's project, by the request's id. */
let rows: Map<string, string>;
/** The error that the log store throws. */
let outage: LogStoreError | undefined;
/** How often the request in `SPEC` was looked up. */
let looks: number;
let deliveredUpTo: number;

beforeEach(async () => {
  now = NOW;
  source = new MemorySource();
  source.put('Account', 'pro', { plan: 'Pro' });
  const project = source.put('Project', 'shop', { accountRef: { name: 'pro' } });
  rows = new Map([[SPEC.requestId, project.metadata.uid]]);
  outage = undefined;
  looks = 0;
  deliveredUpTo = Infinity;
  begin();
  await source.follow(() => controller);
});
afterEach(() => controller.stop?.());

const begin = (): void => {
  const store: ShareControllerOptions['store'] = {
    version: (id) => {
      if (id === SPEC.requestId) looks += 1;
      const projectUid = rows.get(id);
      if (outage !== undefined) return Promise.reject(outage);
      return Promise.resolve(
        projectUid === undefined ? undefined : { projectUid, namespace: 'default', project: 'shop', version: 2 },
      );
    },
  };
  controller = shareController({
    objects: source.objects,
    events: source.events,
    cache: source.cache,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    clock: () => now,
    store,
    prepareStore: () => Promise.resolve(),
    deliveredUpTo: () => deliveredUpTo,
  });
  controller.start?.();
};

const readiness = (): string[] =>
  conditionsIn(source.object('Share', 'link').status)
    .slice(1)
    .map(({ type, status, reason: why }) => `${type}=${status} ${why}`);
const expectReadiness = (...wanted: string[]): Promise<void> =>
  expect.poll(readiness, { timeout: 5_000 }).toEqual(wanted);

const reason = (): string => {
  const [accepted] = conditionsIn(source.object('Share', 'link').status);
  return accepted === undefined ? 'none' : `${accepted.status} ${accepted.reason}`;
};
const expectReason = (wanted: string): Promise<void> => expect.poll(reason).toBe(wanted);

describe('a Share', () => {
  it('is accepted once if its account is on the Pro plan, with the checked generation', async () => {
    source.put('Share', 'link', SPEC);
    await expectReason('True Accepted');
    expect(source.object('Share', 'link').status).toMatchObject({ observedGeneration: 1 });
    source.put('Account', 'other', { plan: 'Free' });
    source.put('Share', 'second', SPEC);
    await expect.poll(() => conditionsIn(source.object('Share', 'second').status).length).toBe(2);
    expect(source.statusWrites.map(({ ref }) => ref.name)).toEqual(['link', 'second']);
  });

  it('follows its account’s plan in both directions, with an Event', async () => {
    source.put('Share', 'link', SPEC);
    await expectReason('True Accepted');
    source.put('Account', 'pro', { plan: 'Free' });
    await expectReason('False NotInPlan');
    expect(source.recorded).toMatchObject([{ name: 'link', reason: 'NotInPlan', type: 'Warning' }]);
    source.put('Account', 'pro', { plan: 'Pro' });
    await expectReason('True Accepted');
  });

  it('is rejected while its project is deleted, until the project exists again', async () => {
    source.put('Share', 'link', SPEC);
    await expectReason('True Accepted');
    source.remove('Project', 'shop');
    await expectReason('False ProjectNotFound');
    source.put('Project', 'shop', { accountRef: { name: 'nobody' } });
    await expectReason('False ProjectNotReady');
    const { uid } = source.put('Project', 'shop', { accountRef: { name: 'pro' } }).metadata;
    rows.set(SPEC.requestId, uid);
    await expectReason('True Accepted');
  });

  it('whose request is in the log is ready after one lookup', async () => {
    source.put('Share', 'link', SPEC);
    source.isQuick = false;
    await expectReadiness('Ready=True Ready');
    source.deliver();
    await expectReason('True Accepted');
    expect(looks).toBe(1);
  });

  it('whose request is not in the log yet becomes ready when a gateway delivers it', async () => {
    deliveredUpTo = -Infinity;
    const uid = rows.get(SPEC.requestId) ?? '';
    rows.clear();
    source.put('Share', 'link', SPEC);
    await expectReadiness('Ready=False RequestNotFound');
    await expectReason('True Accepted');
    rows.set(SPEC.requestId, uid);
    await expectReadiness('Ready=True Ready');
    expect(source.recorded).toEqual([]);
  });

  it('whose request is missing after all gateways have delivered is stalled, with an Event', async () => {
    deliveredUpTo = -Infinity;
    rows.clear();
    source.put('Share', 'link', SPEC);
    await expectReadiness('Ready=False RequestNotFound');
    deliveredUpTo = Infinity;
    await expectReadiness('Ready=False RequestNotFound', 'Stalled=True RequestNotFound');
    expect(source.recorded).toMatchObject([{ name: 'link', type: 'Warning', reason: 'RequestNotFound' }]);
    const before = looks;
    source.put('Account', 'pro', { plan: 'Pro', monthlyQuota: 5 });
    await expect.poll(() => looks).toBe(before + 1);
  });

  it('whose request is of another project is stalled', async () => {
    deliveredUpTo = -Infinity;
    rows.set(SPEC.requestId, 'another project');
    source.put('Share', 'link', SPEC);
    await expectReadiness('Ready=False RequestNotFound', 'Stalled=True RequestNotFound');
  });

  it('keeps its readiness while the log store is unavailable, and is not ready before', async () => {
    const unavailable = new LogStoreError('connection refused', {
      kind: 'retryable',
      code: 'ECONNREFUSED',
    });
    source.put('Share', 'link', SPEC);
    await expectReadiness('Ready=True Ready');
    outage = unavailable;
    const before = looks;
    source.put('Account', 'pro', { plan: 'Pro', monthlyQuota: 5 });
    await expect.poll(() => looks).toBe(before + 1);
    // The failed lookup is not repeated with every change.
    source.put('Account', 'pro', { plan: 'Pro', monthlyQuota: 6 });
    source.put('Share', 'other', { ...SPEC, requestId: SPEC.requestId.replace('0', '1') });
    await expect
      .poll(() => conditionsIn(source.object('Share', 'other').status).map(({ reason: why }) => why))
      .toEqual(['Accepted', 'Waiting']);
    expect(readiness()).toEqual(['Ready=True Ready']);
    expect(looks).toBe(before + 1);
  });

  it.each([
    ['NotInPlan', 'Free', SPEC],
    ['Expired', 'Pro', { ...SPEC, expiresAt: at(NOW) }],
    ['Invalid', 'Pro', { ...SPEC, tokenSha256: 'secret' }],
  ])('that is refused for %s is stalled, and its request is not looked for', async (why, plan, spec) => {
    source.put('Account', 'pro', { plan });
    source.put('Share', 'link', spec);
    await expectReadiness(`Ready=False ${why}`, `Stalled=True ${why}`);
    expect(looks).toBe(0);
  });

  it('of a missing project is not stalled', async () => {
    source.put('Share', 'link', { ...SPEC, projectRef: { name: 'later' } });
    await expectReadiness('Ready=False ProjectNotFound');
  });

  it.each([
    ['without an expiry', { ...SPEC, expiresAt: undefined }, 'False Invalid'],
    [
      'with an expiry in more than 30 days',
      { ...SPEC, expiresAt: at(NOW + LIMITS.shareLifetimeMsMax + HOUR_MS) },
      'False Invalid',
    ],
    [
      'with an expiry in 30 days',
      { ...SPEC, expiresAt: at(NOW - HOUR_MS + LIMITS.shareLifetimeMsMax) },
      'True Accepted',
    ],
    ['with an expiry on a day that does not exist', { ...SPEC, expiresAt: '2026-02-31T00:00:00Z' }, 'False Invalid'],
    ['after its expiry', { ...SPEC, expiresAt: at(NOW) }, 'False Expired'],
    ['with a plain-text token', { ...SPEC, tokenSha256: 'secret' }, 'False Invalid'],
  ])('gets the correct condition %s', async (_, spec, wanted) => {
    source.put('Share', 'link', spec);
    await expectReason(wanted);
  });

  it('is checked when it expires, and deleted a day later', async () => {
    source.put('Share', 'link', { ...SPEC, expiresAt: at(NOW + 1_000) });
    await expectReason('True Accepted');
    now = NOW + 1_000;
    source.put('Project', 'shop', { accountRef: { name: 'pro' }, retentionDays: 2 });
    await expectReason('False Expired');
    now += LIMITS.shareKeptMs;
    source.put('Project', 'shop', { accountRef: { name: 'pro' }, retentionDays: 3 });
    await expect
      .poll(async () => source.objects.get({ kind: 'Share', namespace: 'default', name: 'link' }))
      .toBeUndefined();
  });

  it.each([
    { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:standin.dev/Share:default/link' } },
    { annotations: { 'meta.helm.sh/release-name': 'shop' } },
    { labels: { 'app.kubernetes.io/instance': 'shop' } },
    { labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop' } },
    { labels: { 'helm.toolkit.fluxcd.io/name': 'shop' } },
  ])('that is managed by %j is never deleted, and expires like any other', async (tracking) => {
    source.put('Share', 'link', SPEC);
    await expectReason('True Accepted');
    source.label('Share', 'link', tracking);
    now = NOW + HOUR_MS + LIMITS.shareKeptMs;
    source.put('Account', 'pro', { plan: 'Pro', monthlyQuota: 5 });
    await expectReason('False Expired');
    let calls = 0;
    source.disturb = () => {
      calls += 1;
    };
    // A Share that the tool does not manage is deleted in the meantime.
    source.put('Share', 'other', SPEC);
    await expect.poll(() => source.has('Share', 'other')).toBe(false);
    expect([source.has('Share', 'link'), calls]).toEqual([true, 1]);
  });

  it('whose status was just written is deleted although the source has not reported the write', async () => {
    now = NOW + HOUR_MS;
    source.put('Share', 'link', SPEC);
    await expectReason('False Expired');
    source.isQuick = false;
    source.put('Account', 'pro', { plan: 'Free' });
    now += LIMITS.shareKeptMs;
    controller.changed?.(source.object('Account', 'pro'));
    await expect.poll(() => source.has('Share', 'link')).toBe(false);
  });

  it('that is changed while it is being deleted is judged again', async () => {
    now = NOW + HOUR_MS + LIMITS.shareKeptMs;
    source.disturb = (call) => {
      if (call !== 'delete') return;
      source.disturb = () => undefined;
      source.label('Share', 'link', { labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop' } });
    };
    source.put('Share', 'link', SPEC);
    await expectReason('False Expired');
    expect(source.has('Share', 'link')).toBe(true);
  });

  it('is checked again if another client changed it at the same time', async () => {
    let conflicts = 1;
    source.disturb = (call, name) => {
      if (call !== 'writeStatus' || conflicts === 0) return;
      conflicts -= 1;
      source.put('Share', name, SPEC);
    };
    source.put('Share', 'link', SPEC);
    await expectReason('True Accepted');
  });
});
