import { WITHHELD_CREDENTIAL, type ConfigFeatures, type ConfigObject } from '@standin/contract';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ConfigLog, textFor, type Transaction } from './config-log.ts';

const account = (uid: string, name = uid): ConfigObject => ({
  kind: 'Account',
  uid,
  namespace: 'default',
  name,
  plan: 'Free',
});
const endpoint = (uid: string, slug: string) =>
  ({
    kind: 'Endpoint',
    uid,
    namespace: 'default',
    name: uid,
    projectUid: 'p',
    generation: 1,
    slug,
    method: 'GET',
    action: { kind: 'JSON', status: 200, headers: [], body: '{}' },
  }) as const satisfies ConfigObject;
/** A feature of a later version. */
const PATTERNS: ConfigFeatures = { 'path-parameters': ({ slug }) => slug.includes('{') };
/** Parses what a gateway that supports `features` receives. */
const messages = (lines: Transaction, features: readonly string[] = []): unknown[] =>
  lines.map((line) => {
    const text = textFor(line, features);
    expect(text.indexOf('\n')).toBe(text.length - 1);
    return JSON.parse(text) as unknown;
  });

test('a delta is one transaction, and removes only existing objects', () => {
  const log = new ConfigLog(7);
  const seen: Transaction[] = [];
  log.append({ put: [account('a')], remove: [] });
  log.follow((transaction) => seen.push(transaction));
  log.append({ put: [account('b')], remove: ['Account/a', 'Account/x'] });
  expect(seen.map((transaction) => messages(transaction))).toEqual([
    [
      { type: 'begin', revision: '7.2', snapshot: false },
      { type: 'remove', key: 'Account/a' },
      { type: 'put', object: account('b') },
      { type: 'commit', revision: '7.2' },
    ],
  ]);
  expect([log.since('Account/a'), log.since('Account/b')]).toEqual([undefined, 2]);
});

test('later changes do not affect a snapshot', () => {
  const log = new ConfigLog(1);
  log.append({ put: [account('a', 'first'), account('b')], remove: [] });
  const snapshot = log.snapshot();
  log.append({ put: [account('a', 'second')], remove: ['Account/b'] });
  expect(messages(snapshot)).toEqual([
    { type: 'begin', revision: '1.1', snapshot: true },
    { type: 'put', object: account('a', 'first') },
    { type: 'put', object: account('b') },
    { type: 'commit', revision: '1.1' },
  ]);
});

test('asks gateways for acknowledgements with a heartbeat, but not many times in a second', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const log = new ConfigLog(1);
  const seen: Transaction[] = [];
  log.follow((transaction) => seen.push(transaction));
  const sentMs = performance.now();
  for (let tenths = 0; tenths < 10; tenths += 1) {
    log.askForAcks();
    vi.advanceTimersByTime(100);
  }
  expect(seen.map((transaction) => messages(transaction))).toEqual([
    [{ type: 'heartbeat', revision: '1.0', sentMs }],
    [{ type: 'heartbeat', revision: '1.0', sentMs: sentMs + 500 }],
  ]);
});

describe('an endpoint that needs a feature', () => {
  const literal = endpoint('literal', '/a');
  const pattern = endpoint('pattern', '/{id}');
  const withheld = { ...pattern, action: { kind: 'Withheld' } };

  const logWith = (...put: ConfigObject[]): ConfigLog => {
    const log = new ConfigLog(1, undefined, PATTERNS);
    log.append({ put, remove: [] });
    return log;
  };

  test.each([
    ['sent to a gateway that supports it', ['path-parameters', 'later'], pattern],
    ['withheld from a gateway that does not', ['other'], withheld],
  ])('is %s, in snapshots and in changes', (_name, features, object) => {
    const expected = { type: 'put', object };
    expect(messages(logWith(literal, pattern).snapshot(), features).slice(1, -1)).toEqual([
      { type: 'put', object: literal },
      expected,
    ]);
    const seen: Transaction[] = [];
    const log = logWith(literal);
    log.follow((transaction) => seen.push(transaction));
    log.append({ put: [pattern], remove: [] });
    expect(messages(seen[0] ?? [], features)[1]).toEqual(expected);
  });

  test('counts as rejected by gateways that do not support it, while it needs the feature', () => {
    const log = logWith(literal, pattern);
    const rejected = {
      key: 'Endpoint/pattern',
      message: 'its version of Standin does not support path-parameters: update the gateway',
    };
    expect([log.withheldFrom(['path-parameters']), log.withheldFrom(['other'])]).toEqual([[], [rejected]]);
    log.append({ put: [endpoint('pattern', '/plain')], remove: [] });
    expect(log.withheldFrom([])).toEqual([]);
    log.append({ put: [pattern], remove: [] });
    log.append({ put: [], remove: ['Endpoint/pattern'] });
    expect(log.withheldFrom([])).toEqual([]);
  });
});

describe('signing secrets', () => {
  const signed = (uid: string, ...secretIds: string[]) => ({
    ...endpoint(uid, `/${uid}`),
    credential: { kind: 'Signature', signature: { scheme: 'GitHub' }, secretIds } as const,
  });
  const secret = (id: string) => ({ type: 'secret', id, value: Buffer.from(`value of ${id}`).toString('base64') });
  const forget = (id: string) => ({ type: 'forget', id });
  const isAboutSecrets = (message: unknown): boolean =>
    typeof message === 'object' && message !== null && 'id' in message;

  let log: ConfigLog;
  let seen: Transaction[];
  beforeEach(() => {
    log = new ConfigLog(1, (id) => (id === 'unknown' ? undefined : Buffer.from(`value of ${id}`)));
    seen = [];
    log.follow((transaction) => seen.push(transaction));
  });
  /** Publishes a change. Returns its messages about secrets, and those of a snapshot. */
  const after = (put: readonly ConfigObject[], remove: readonly string[] = []): unknown[][] => {
    log.append({ put, remove });
    return [seen.at(-1) ?? [], log.snapshot()].map((lines) => messages(lines).filter(isAboutSecrets));
  };

  test('are sent with the first endpoint, and deleted with the last one', () => {
    expect(after([signed('a', '1'), signed('b', '1')])).toEqual([[secret('1')], [secret('1')]]);
    expect(after([endpoint('a', '/a')])).toEqual([[], [secret('1')]]);
    expect(after([], ['Endpoint/b'])).toEqual([[forget('1')], []]);
  });

  test('are replaced in one transaction', () => {
    after([signed('a', '1')]);
    expect(after([signed('a', '2', '1')])).toEqual([[secret('2')], [secret('1'), secret('2')]]);
    expect(after([signed('a', '2')])).toEqual([[forget('1')], [secret('2')]]);
  });

  test('that move to another endpoint are not sent again', () => {
    after([signed('a', '1')]);
    expect(after([signed('b', '1')], ['Endpoint/a'])).toEqual([[], [secret('1')]]);
  });

  test('without a value are omitted', () => {
    expect(after([signed('a', 'unknown')])).toEqual([[], []]);
    expect(after([], ['Endpoint/a'])).toEqual([[], []]);
  });

  test('of an endpoint that is withheld are not part of it, but the gateway learns that there are some', () => {
    const withholding = new ConfigLog(1, undefined, PATTERNS);
    withholding.append({ put: [{ ...signed('a', '1'), slug: '/{id}' }], remove: [] });
    const [, put] = messages(withholding.snapshot());
    expect(put).toMatchObject({ object: { action: { kind: 'Withheld' }, credential: WITHHELD_CREDENTIAL } });
  });
});
