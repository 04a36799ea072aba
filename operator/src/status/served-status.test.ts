import { SourceError, type ResourceObject } from '@standin/contract';
import { conditionsIn } from '@standin/crds';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import type { ProgrammedState } from '../gateways/gateway-record.ts';
import type { Audited } from '../quota/quota-audit.ts';
import type { QuotaUsage } from '../quota/usage.ts';
import type { Finding, Verdict } from '../translate/index.ts';
import { ServedStatus } from './served-status.ts';
import type { StatusFields } from './status-writer.ts';

const ACCEPTED: Finding = { ok: true, reason: 'Accepted', message: 'The object is valid.' };
const INVALID: Finding = { ok: false, reason: 'Invalid', message: 'spec.slug: must begin with /.' };

let source: MemorySource;
/** The operator's view of the source. */
let seen: ResourceObject | undefined;
let accepted: Finding;
let state: ProgrammedState | undefined;
let withdrawn: ProgrammedState | undefined;
let fields: StatusFields;
let usage: QuotaUsage | undefined;
let audited: Audited | undefined;
let quota: number | undefined;
let now: Date;
let statuses: ServedStatus;

const newLeader = (): ServedStatus =>
  new ServedStatus({
    objects: source.objects,
    events: source.events,
    logger: pino({ level: 'silent' }),
    clock: () => now,
    inputs: {
      object: () => seen,
      verdict: () => seen && verdict(),
      programmed: () => state,
      withdrawn: () => withdrawn,
      fields: () => fields,
      usage: () => usage,
      audited: () => audited,
    },
  });

const verdict = (): Verdict => ({
  ref: { kind: 'Endpoint', namespace: 'default', name: 'e' },
  uid: 'uid-1',
  generation: seen?.metadata.generation ?? 0,
  accepted,
  resolvedRefs: { ok: true, reason: 'ResolvedRefs', message: 'The Project exists.' },
  configKey: accepted.ok ? 'Endpoint/uid-1' : undefined,
  status: { url: 'http://gateway/uri/e' },
  quota,
});

const report = (): void => {
  seen = source.object('Endpoint', 'e');
};
const ready = (): string[] =>
  conditionsIn(source.object('Endpoint', 'e').status)
    .filter(({ type }) => type === 'Ready')
    .map(({ status, reason, lastTransitionTime }) => `${status} ${reason} ${lastTransitionTime}`);

const warnings = () => source.recorded.filter(({ type }) => type === 'Warning');

beforeEach(() => {
  source = new MemorySource();
  source.put('Endpoint', 'e', {});
  report();
  accepted = ACCEPTED;
  state = { kind: 'programmed' };
  withdrawn = undefined;
  fields = {};
  usage = audited = quota = undefined;
  now = new Date('2026-11-21T10:00:00.123Z');
  statuses = newLeader();
});

test('a status is written once, and not again without a difference', async () => {
  expect(await statuses.write('uid-1')).toMatchObject({ uid: 'uid-1', ready: true, wrote: true });
  report();
  now = new Date('2026-11-21T11:00:00Z');
  expect(await statuses.write('uid-1')).toMatchObject({ ready: true, wrote: false });
  expect(source.statusWrites).toHaveLength(1);
  expect(source.object('Endpoint', 'e').status).toMatchObject({ observedGeneration: 1, url: 'http://gateway/uri/e' });
});

test('only differences are written', async () => {
  await statuses.write('uid-1');
  fields = { extra: { a: 1 } };
  await statuses.write('uid-1');
  expect(source.statusWrites[1]?.status).toEqual({ extra: { a: 1 } });
});

test('a source that lags behind the last write does not cause a difference', async () => {
  await statuses.write('uid-1');
  // `seen` is still the object without a status.
  expect(await statuses.write('uid-1')).toMatchObject({ wrote: false });
  state = { kind: 'no-gateway' };
  accepted = INVALID;
  expect(await statuses.write('uid-1')).toMatchObject({ wrote: true, ready: false });
  expect(ready()).toEqual(['False Invalid 2026-11-21T10:00:00Z']);
});

test('an Endpoint that is not accepted is not programmed, whatever the gateways that refuse its requests report', async () => {
  accepted = INVALID;
  const waiting: ProgrammedState = { kind: 'waiting', gateways: ['g'], known: 1, unheard: false };
  const states = [waiting, { kind: 'programmed' }, { ...waiting, unheard: true }, { kind: 'no-gateway' }] as const;
  for (state of states) {
    await statuses.write('uid-1');
    report();
    // Another operator writes nothing.
    statuses = newLeader();
  }
  expect(source.statusWrites).toHaveLength(1);
  expect(conditionsIn(source.object('Endpoint', 'e').status)).toContainEqual(
    expect.objectContaining({
      type: 'Programmed',
      status: 'False',
      reason: 'NotProgrammed',
      message: 'Gateways do not use the object: see Accepted and ResolvedRefs.',
    }),
  );
});

test('the source’s report of the last write is recognized once, and another client’s write is not', async () => {
  await statuses.write('uid-1');
  report();
  const echo = source.object('Endpoint', 'e');
  expect([statuses.isEcho(echo), statuses.isEcho(echo)]).toEqual([true, false]);
  expect(statuses.isEcho(source.put('Endpoint', 'e', { changed: true }))).toBe(false);
});

describe('an object that changed since it was reported', () => {
  test('keeps its status until its change is reported', async () => {
    source.put('Endpoint', 'e', { changed: true });
    expect(await statuses.write('uid-1')).toBeUndefined();
    expect(source.statusWrites).toEqual([]);
    report();
    expect(await statuses.write('uid-1')).toMatchObject({ wrote: true });
    expect(source.object('Endpoint', 'e').status).toMatchObject({ observedGeneration: 2 });
  });

  test('does not get its predecessor’s status if it was created again', async () => {
    source.remove('Endpoint', 'e');
    source.put('Endpoint', 'e', {});
    expect(await statuses.write('uid-1')).toBeUndefined();
    expect(source.object('Endpoint', 'e').status).toBeUndefined();
  });

  test('does not get a status if it was deleted', async () => {
    source.remove('Endpoint', 'e');
    expect(await statuses.write('uid-1')).toBeUndefined();
    seen = undefined;
    expect(await statuses.write('uid-1')).toBeUndefined();
  });
});

test('a failed write rejects so that it is retried', async () => {
  source.disturb = () => {
    throw new SourceError('Unavailable', 'unavailable');
  };
  await expect(statuses.write('uid-1')).rejects.toThrow('unavailable');
});

describe('Programmed', () => {
  const unheard: ProgrammedState = { kind: 'waiting', gateways: ['g'], known: 1, unheard: true };

  test('remains True while a new leader’s gateways reconnect, until the object changes', async () => {
    await statuses.write('uid-1');
    report();
    state = unheard;
    expect(await statuses.write('uid-1')).toMatchObject({ wrote: false, ready: true });
    source.put('Endpoint', 'e', { changed: true });
    report();
    expect(await statuses.write('uid-1')).toMatchObject({ wrote: true, ready: false });
  });

  test('does not remain True for a different key in the same generation', async () => {
    fields = { apiKey: { fingerprint: 'old' } };
    await statuses.write('uid-1');
    report();
    state = unheard;
    fields = { apiKey: { fingerprint: 'new' } };
    expect(await statuses.write('uid-1')).toMatchObject({ ready: false });
  });
});

describe('Events', () => {
  const write = async (seconds: number) => {
    now = new Date(Date.UTC(2026, 10, 21, 10, 0, seconds));
    const written = await statuses.write('uid-1');
    report();
    return written?.recheckAfterMs;
  };
  const reported = () => source.recorded.splice(0).map(({ type, reason }) => `${type} ${reason}`);

  test('a fault that may resolve by itself is reported once, and only if it lasts', async () => {
    state = { kind: 'no-gateway' };
    expect(await write(0)).toBe(10_000);
    expect(await write(4)).toBe(6_000);
    expect(reported()).toEqual([]);
    expect(await write(10)).toBeUndefined();
    expect(reported()).toEqual(['Warning NoGateway']);
    expect(await write(60)).toBeUndefined();
    expect(reported()).toEqual([]);
  });

  test('a fault that resolves in time leaves only the Event that the object is live', async () => {
    state = { kind: 'no-gateway' };
    await write(0);
    state = { kind: 'waiting', gateways: ['g'], known: 1, unheard: false };
    expect(await write(8)).toBe(10_000);
    expect(await write(16)).toBe(2_000);
    state = { kind: 'programmed' };
    expect(await write(17)).toBeUndefined();
    await write(60);
    expect(reported()).toEqual(['Normal Ready']);
  });

  test('a fault that returns at the same generation is reported again, if it lasts again', async () => {
    state = { kind: 'rejected', gateway: 'g', message: 'no' };
    await write(0);
    state = { kind: 'programmed' };
    await write(1);
    state = { kind: 'rejected', gateway: 'g', message: 'no' };
    await write(2);
    expect(reported()).toEqual(['Warning Rejected', 'Normal Ready', 'Warning Rejected']);
  });

  test('a new leader reports nothing that its predecessor found', async () => {
    accepted = INVALID;
    await write(0);
    expect(reported()).toEqual(['Warning Invalid']);
    statuses = newLeader();
    expect(await write(1)).toBeUndefined();
    expect(reported()).toEqual([]);
  });

  test('a fault that may resolve by itself is reported if it lasts, even if the leader changes in the meantime', async () => {
    state = { kind: 'no-gateway' };
    await write(0);
    statuses = newLeader();
    expect(await write(5)).toBe(10_000);
    expect(reported()).toEqual([]);
    expect(await write(15)).toBeUndefined();
    expect(reported()).toEqual(['Warning NoGateway']);
    expect(await write(60)).toBeUndefined();
    expect(reported()).toEqual([]);
  });

  test('a fault of an object that is deleted during the write is reported again if the object comes back', async () => {
    accepted = INVALID;
    source.disturb = () => {
      seen = undefined;
      statuses.forget('uid-1');
    };
    await statuses.write('uid-1');
    reported();
    source.disturb = () => undefined;
    source.remove('Endpoint', 'e');
    const { metadata, ...again } = source.put('Endpoint', 'e', {});
    // The uid stays the same, like that of a Project that is created again.
    seen = { ...again, metadata: { ...metadata, uid: 'uid-1' } };
    await statuses.write('uid-1');
    expect(reported()).toEqual(['Warning Invalid']);
  });

  test('a Project whose URI changes gets a Warning with both URLs', async () => {
    source.put('Project', 'p', {});
    const projects = (uri: string) => {
      seen = source.object('Project', 'p');
      fields = { uri, url: `http://gateway/${uri}` };
      return statuses.write('uid-2');
    };
    await projects('derived');
    await projects('derived');
    source.put('Project', 'p', { uri: 'pinned' });
    await projects('pinned');
    await projects('pinned');
    expect(source.recorded.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      'Normal Ready',
      'Warning UriChanged',
    ]);
    expect(source.recorded[1]?.message).toContain('begin with http://gateway/pinned instead of http://gateway/derived');
  });

  test('a fault that a user must fix is reported immediately, and once per generation', async () => {
    accepted = INVALID;
    await statuses.write('uid-1');
    fields = { other: 1 };
    await statuses.write('uid-1');
    expect(source.recorded).toEqual([{ type: 'Warning', reason: 'Invalid', message: INVALID.message, name: 'e' }]);
    report();
    source.put('Endpoint', 'e', { changed: true });
    report();
    await statuses.write('uid-1');
    expect(source.recorded).toHaveLength(2);
  });
});

test.each([[undefined], ['text'], [{ conditions: 'none' }], [{ conditions: [{ type: 1 }] }]])(
  'a status from another client (%j) is replaced',
  async (status) => {
    source.put('Endpoint', 'e', {}, status);
    report();
    expect(await statuses.write('uid-1')).toMatchObject({ wrote: true });
    expect(ready()).toHaveLength(1);
  },
);

test('a quota has a condition, and one Event each when it is nearly used up and when it is used up, even if the leader changes', async () => {
  quota = 10;
  const accept = async (accepted: number): Promise<string | undefined> => {
    usage = { period: '2026-11', accepted, granted: 10, quota: 10, isExhausted: false };
    await statuses.write('uid-1');
    report();
    return conditionsIn(seen?.status).find(({ type }) => type === 'QuotaAvailable')?.reason;
  };
  expect(await accept(1)).toBe('QuotaAvailable');
  expect(await accept(8)).toBe('QuotaNearlyUsedUp');
  expect(await accept(9)).toBe('QuotaNearlyUsedUp');
  expect(await accept(10)).toBe('QuotaUsedUp');
  expect(warnings().map(({ reason }) => reason)).toEqual(['QuotaNearlyUsedUp', 'QuotaUsedUp']);
  expect(ready()).toEqual([expect.stringContaining('True Ready')]);
  // Nothing is known yet in a new term, so the earlier status remains.
  usage = undefined;
  expect(await statuses.write('uid-1')).toMatchObject({ wrote: false });
  quota = undefined;
  await statuses.write('uid-1');
  report();
  expect(conditionsIn(seen?.status).map(({ type }) => type)).not.toContain('QuotaAvailable');
});

test('gateways that report to a new leader one by one do not change conditions or cause Events', async () => {
  quota = 10_000;
  for (const accepted of [8_500, 4_500, 6_700, 7_700, 8_200, 8_600]) {
    usage = { period: '2026-11', accepted, granted: 9_500, quota, isExhausted: undefined };
    fields = { usage: { period: '2026-11', accepted: Math.max(8_500, accepted), quota } };
    await statuses.write('uid-1');
    report();
    expect(conditionsIn(seen?.status)).toContainEqual(expect.objectContaining({ reason: 'QuotaNearlyUsedUp' }));
  }
  expect(warnings().map(({ reason }) => reason)).toEqual(['QuotaNearlyUsedUp']);
});

test('a quota that does not match the log has a condition and an Event until an audit succeeds', async () => {
  quota = 100;
  const written = async (): Promise<readonly string[]> => {
    await statuses.write('uid-1');
    report();
    return conditionsIn(seen?.status).map(({ type, reason }) => `${type} ${reason}`);
  };
  const mismatch = 'QuotaMismatch QuotaMismatch';
  expect(await written()).not.toContain(mismatch);
  audited = { mismatch: { ok: true, reason: 'QuotaMismatch', message: 'The log has more.' } };
  expect(await written()).toContain(mismatch);
  // A new leader has not run an audit yet.
  audited = undefined;
  expect(await written()).toContain(mismatch);
  audited = {};
  expect(await written()).not.toContain(mismatch);
  expect(warnings()).toMatchObject([{ type: 'Warning', reason: 'QuotaMismatch', message: 'The log has more.' }]);
});

describe.each(['signingSecrets', 'upstreamSecrets'] as const)(
  'the secrets in the status of an Endpoint (%s)',
  (field) => {
    const WAITING: ProgrammedState = { kind: 'waiting', gateways: ['lost'], known: 2, unheard: false };
    const version = (number: string) => ({ [field]: [{ name: 'gh', key: 'current', version: number }] });
    const shown = () => source.object('Endpoint', 'e').status;
    const programmedMessage = () => conditionsIn(shown()).find(({ type }) => type === 'Programmed')?.message;
    const write = async (): Promise<void> => {
      await statuses.write('uid-1');
      report();
    };
    beforeEach(async () => {
      fields = version('1');
      await write();
    });

    test('change when all gateways have acknowledged the change', async () => {
      fields = version('2');
      state = WAITING;
      await write();
      expect(shown()).toMatchObject(version('1'));
      state = { kind: 'programmed' };
      await write();
      expect(shown()).toMatchObject(version('2'));
    });

    test('appear immediately if there were none, so that the next leader knows them', async () => {
      fields = { [field]: undefined };
      await write();
      expect(shown()).not.toHaveProperty(field);
      fields = version('1');
      state = WAITING;
      await write();
      expect(shown()).toMatchObject(version('1'));
    });

    test('remain while a gateway may still serve an Endpoint that is no longer accepted', async () => {
      fields = { [field]: undefined };
      accepted = { ok: false, reason: 'NotPermitted', message: 'The Account does not allow signed requests.' };
      withdrawn = WAITING;
      await write();
      expect(shown()).toMatchObject(version('1'));
      expect(programmedMessage()).toContain('some may still use it: waiting for lost.');
      withdrawn = undefined;
      await write();
      expect(shown()).not.toHaveProperty(field);
      expect(programmedMessage()).toContain('Gateways do not use the object');
    });

    test('that changed are not reported as programmed because the earlier ones were', async () => {
      fields = version('2');
      state = { kind: 'no-gateway' };
      await write();
      expect(programmedMessage()).toContain('No gateway is connected');
    });
  },
);
