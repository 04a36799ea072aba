import { LIMITS, SourceError, type LabelledSecret } from '@standin/contract';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import type { SecretState, Verdict } from '../translate/index.ts';
import { SecretController } from './secret-controller.ts';

const POLL_MS = 1_000;

let source: MemorySource;
let verdicts: Verdict[];
let states: Map<string, SecretState>;
let flushes: number;
let reads: string[];
let secrets: SecretController;

beforeEach(() => {
  vi.useFakeTimers();
  source = new MemorySource();
  reads = [];
  source.disturb = (call, name) => {
    if (call === 'readLabelledSecret') reads.push(name);
  };
  verdicts = [];
  states = new Map();
  flushes = 0;
  secrets = new SecretController({
    secrets: source.secrets,
    pollMs: POLL_MS,
    logger: pino({ level: 'silent' }),
    translator: { verdicts: () => verdicts },
    desired: {
      setSecret: (namespace, name, state) => {
        if (state === undefined) states.delete(`${namespace}/${name}`);
        else states.set(`${namespace}/${name}`, state);
      },
      flush: () => (flushes += 1),
    },
  });
});
afterEach(async () => {
  await secrets.stop();
  vi.useRealTimers();
});

const secret = (
  version: string,
  data: Readonly<Record<string, string>>,
  { uses = ['Signing'], upstreamOrigins = '' }: Partial<LabelledSecret> = {},
): LabelledSecret => ({
  version,
  uses,
  upstreamOrigins,
  data: new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'latin1')])),
});
const verdict = (uid: string, ...secretNames: string[]): Verdict => ({
  ref: { kind: 'Endpoint', namespace: 'team', name: uid },
  uid,
  generation: 1,
  configKey: undefined,
  status: {},
  accepted: { ok: true, reason: 'Accepted', message: '' },
  resolvedRefs: { ok: true, reason: 'ResolvedRefs', message: '' },
  ...(secretNames.length > 0 && { secretNames }),
});
const secretText = (id: string): string | undefined => {
  const value = secrets.secretValue(id);
  return value && Buffer.from(value).toString('latin1');
};
const lead = async (): Promise<void> => {
  await secrets.prepare(new AbortController().signal);
  secrets.start();
};
const poll = () => vi.advanceTimersByTimeAsync(POLL_MS);

describe('the values of a Secret', () => {
  const read = async (data: Readonly<Record<string, string>>): Promise<SecretState | undefined> => {
    source.labelledSecrets.set('gh', secret('7', data));
    verdicts = [verdict('a', 'gh')];
    await lead();
    return states.get('team/gh');
  };

  test('are known by id, and their state does not contain them', async () => {
    const state = await read({ current: 'sesame', previous: 'open' });
    expect(state).toEqual({
      kind: 'found',
      uses: ['Signing'],
      upstreamOrigins: new Set(),
      version: '7',
      values: new Map([
        ['current', { id: 'team/gh/current@7', unusableAs: ['StandardWebhooks'] }],
        ['previous', { id: 'team/gh/previous@7' }],
      ]),
    });
    expect([
      secretText('team/gh/current@7'),
      secretText('team/gh/previous@7'),
      secretText('team/gh/current@6'),
    ]).toEqual(['sesame', 'open', undefined]);
  });

  test.each([
    ['a token', 'Bearer a.b-c', false],
    ['Latin-1', 'caf\u00e9', false],
    ['a tab inside', 'a\tb', false],
    ['a line break inside', 'a\r\nhost: b', true],
    ['a null character', 'a\0b', true],
    ['a space at its end', 'a ', true],
    ['a tab at its beginning', '\ta', true],
  ])('can be headers, unless HTTP forbids it: %s', async (_what, value, isUnusable) => {
    const state = await read({ current: value });
    const judged = state?.kind === 'found' ? state.values.get('current') : undefined;
    expect(judged !== undefined && 'id' in judged && judged.unusableAs?.includes('Header') === true).toBe(isUnusable);
  });

  test.each([
    ['', []],
    ['https://a.example', ['https://a.example']],
    [
      'https://A.example/, https://b.example:443 \n https://c.example:8443',
      ['https://a.example', 'https://b.example', 'https://c.example:8443'],
    ],
    ['https://a.example/path http://b.example', ['https://a.example/path', 'http://b.example']],
  ])('are for the origins in the annotation: %j', async (upstreamOrigins, expected) => {
    source.labelledSecrets.set('gh', secret('7', {}, { uses: ['Upstream'], upstreamOrigins }));
    verdicts = [verdict('a', 'gh')];
    await lead();
    expect(states.get('team/gh')).toMatchObject({ uses: ['Upstream'], upstreamOrigins: new Set(expected) });
  });

  test.each([
    ['an empty value', '', 'is empty'],
    ['the longest value', 'x'.repeat(LIMITS.secretBytesMax), undefined],
    [
      'a value that is too long',
      'x'.repeat(LIMITS.secretBytesMax + 1),
      'has 8193 bytes, more than the maximum of 8192',
    ],
    ['text with a line break at its end', 'sesame\n', 'ends with a line break'],
    ['text with a line break inside', 'open\nsesame', undefined],
    ['bytes that end like a line break', '\u0001\n', undefined],
  ])('are judged: %s', async (_what, value, problem) => {
    const state = await read({ current: value });
    const judged = state?.kind === 'found' ? state.values.get('current') : undefined;
    expect(judged).toEqual(problem === undefined ? expect.objectContaining({ id: 'team/gh/current@7' }) : { problem });
    expect(secretText('team/gh/current@7')).toBe(problem === undefined ? value : undefined);
  });
});

describe('a term', () => {
  beforeEach(() => {
    source.labelledSecrets.set('gh', secret('1', { k: 'one' }));
    verdicts = [verdict('a', 'gh'), verdict('b', 'gh', 'other'), verdict('c')];
  });

  test('begins when each Secret has been read once', async () => {
    await lead();
    expect(reads.sort()).toEqual(['gh', 'other']);
    expect([flushes, secrets.isComplete()]).toEqual([1, true]);
    expect(states.get('team/other')).toEqual({ kind: 'missing' });
  });

  test('does not begin while the API server is unavailable', async () => {
    source.disturb = () => {
      throw new SourceError('Unavailable', 'try later');
    };
    await expect(lead()).rejects.toThrow('try later');
  });

  test('begins although a permission is missing, and reports it', async () => {
    source.disturb = () => {
      throw new SourceError('Forbidden', 'no verb get');
    };
    await lead();
    expect(states.get('team/gh')).toEqual({
      kind: 'unreadable',
      message: 'the operator lacks a permission (no verb get)',
    });
  });

  test('follows a Secret that changes, loses its label, and is deleted', async () => {
    await lead();
    source.labelledSecrets.set('gh', secret('2', { k: 'two' }));
    await poll();
    expect([secretText('team/gh/k@1'), secretText('team/gh/k@2')]).toEqual([undefined, 'two']);
    source.labelledSecrets.set('gh', secret('3', {}, { uses: [] }));
    await poll();
    expect(states.get('team/gh')).toMatchObject({ uses: [] });
    expect(secretText('team/gh/k@2')).toBeUndefined();
    source.labelledSecrets.delete('gh');
    await poll();
    expect(states.get('team/gh')).toEqual({ kind: 'missing' });
  });

  test('keeps a Secret while a permission is missing', async () => {
    await lead();
    source.disturb = () => {
      throw new SourceError('Forbidden', 'no verb get');
    };
    await poll();
    expect(secretText('team/gh/k@1')).toBe('one');
    expect(states.get('team/gh')).toMatchObject({ kind: 'found' });
  });

  test('reads the Secret of a new Endpoint at once, and is not complete before', async () => {
    await lead();
    secrets.translated({ verdicts: [verdict('d', 'new')] });
    expect(secrets.isComplete()).toBe(false);
    await vi.advanceTimersByTimeAsync(0);
    expect(secrets.isComplete()).toBe(true);
  });

  test('forgets a Secret when no Endpoint refers to it', async () => {
    await lead();
    secrets.translated({ verdicts: [verdict('a')] });
    await vi.advanceTimersByTimeAsync(0);
    expect(secretText('team/gh/k@1')).toBe('one');
    secrets.removed({
      ...source.put('Endpoint', 'b', {}),
      metadata: { ...source.object('Endpoint', 'b').metadata, uid: 'b' },
    });
    await vi.advanceTimersByTimeAsync(0);
    expect([secretText('team/gh/k@1'), states.size]).toEqual([undefined, 0]);
    reads = [];
    await poll();
    expect(reads).toEqual([]);
  });

  test('forgets all Secrets at its end', async () => {
    await lead();
    await secrets.stop();
    expect([secretText('team/gh/k@1'), states.size]).toEqual([undefined, 0]);
  });
});
