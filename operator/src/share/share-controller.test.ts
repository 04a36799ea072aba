import { LIMITS, type ObjectRef, type ResourceObject } from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import { ShareController } from './share-controller.ts';

/** Deletes objects on request, as real sources do. */
class DeletingSource extends MemorySource {
  override delete(ref?: ObjectRef): Promise<void> {
    if (ref !== undefined) this.remove(ref.kind, ref.name);
    return Promise.resolve();
  }
}

const HOUR_MS = 3_600_000;
/** The approximate creation time of objects in MemorySource. */
const NOW = Date.UTC(2026, 0, 1, 1);
const at = (ms: number): string => new Date(ms).toISOString().replace('.000', '');
const SPEC = {
  projectRef: { name: 'shop' },
  requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe',
  tokenSha256: '0f'.repeat(32),
  expiresAt: at(NOW + HOUR_MS),
};

let source: DeletingSource;
let controller: ShareController;
let now: number;
const objects = new Map<string, ResourceObject>();

beforeEach(async () => {
  now = NOW;
  objects.clear();
  source = new DeletingSource();
  source.put('Account', 'pro', { plan: 'Pro' });
  source.put('Project', 'shop', { accountRef: { name: 'pro' } });
  const options = { source, objects, logger: pino({ level: 'silent' }), registry: new Registry(), clock: () => now };
  controller = new ShareController(options);
  controller.start();
  await source.start(
    {
      put: (object) => controller.changed(object),
      remove: (object) => controller.removed(object),
      problems: () => undefined,
    },
    new AbortController().signal,
  );
});
afterEach(() => controller.stop());

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
    await expect.poll(() => conditionsIn(source.object('Share', 'second').status).length).toBe(1);
    expect(source.statusWrites.map(({ ref }) => ref.name)).toEqual(['link', 'second']);
  });

  it('follows its account’s plan in both directions, with an Event', async () => {
    source.put('Share', 'link', SPEC);
    await expectReason('True Accepted');
    source.put('Account', 'pro', { plan: 'Free' });
    await expectReason('False NotInPlan');
    expect(source.events).toMatchObject([{ name: 'link', reason: 'NotInPlan', type: 'Warning' }]);
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
    source.put('Project', 'shop', { accountRef: { name: 'pro' } });
    await expectReason('True Accepted');
  });

  it.each([
    ['without an expiry time', { ...SPEC, expiresAt: undefined }, 'False Invalid'],
    ['for more than 30 days', { ...SPEC, expiresAt: at(NOW + LIMITS.shareLifetimeMsMax + HOUR_MS) }, 'False Invalid'],
    ['for 30 days', { ...SPEC, expiresAt: at(NOW - HOUR_MS + LIMITS.shareLifetimeMsMax) }, 'True Accepted'],
    ['that expires on a day that does not exist', { ...SPEC, expiresAt: '2026-02-31T25:00:00Z' }, 'False Invalid'],
    ['that has expired', { ...SPEC, expiresAt: at(NOW) }, 'False Expired'],
    ['with a plain-text token', { ...SPEC, tokenSha256: 'secret' }, 'False Invalid'],
  ])('%s', async (_, spec, wanted) => {
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
    await expect.poll(async () => source.get({ kind: 'Share', namespace: 'default', name: 'link' })).toBeUndefined();
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
