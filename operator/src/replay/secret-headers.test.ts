import { Readable } from 'node:stream';
import type { ReplayTarget } from '@standin/contract';
import { createEgress, secretWithdrawn, type Egress, type UpstreamRequest } from '@standin/egress';
import { toLogEntry } from '@standin/exchange';
import { newLogRow } from '@standin/exchange/testing';
import type { ReplayResult } from '@standin/logstore';
import { beforeEach, expect, test } from 'vitest';
import { ObjectCache } from '../object-cache.ts';
import type { SecretState, Translator } from '../translate/index.ts';
import { account, createTranslator, endpoint, make, project } from '../translate/translator.testing.ts';
import type { ReplayPlan } from './replay-plan.ts';
import { ReplaySender } from './replay-sender.ts';

const SECRET = 'Bearer of-the-upstream';
const URL_OF_UPSTREAM = 'https://api.example.com/v1';
const found: SecretState = {
  kind: 'found',
  uses: ['Upstream'],
  upstreamOrigins: new Set(['https://api.example.com']),
  version: '1',
  values: new Map([['token', { id: 'default/up/token@1' }]]),
};
const upstreamSpec = (url = URL_OF_UPSTREAM) => ({
  action: 'Forward',
  forward: {
    url,
    timeout: '1s',
    requestHeaders: {
      set: [
        { name: 'Authorization', valueFrom: { secretRef: { name: 'up', key: 'token' } } },
        { name: 'x-plain', value: 'plain' },
      ],
    },
  },
});
const ORDERS = endpoint('orders', upstreamSpec());

let cache: ObjectCache;
let translator: Translator;
let values: Map<string, Buffer>;
let sent: UpstreamRequest[];
/** Called when a request has waited for its connection. */
let onConnected: () => void;

beforeEach(() => {
  cache = new ObjectCache();
  cache.put(ORDERS);
  translator = createTranslator(account, project, ORDERS);
  translator.setSecret('default', 'up', found);
  translator.flush();
  values = new Map([['default/up/token@1', Buffer.from(SECRET)]]);
  sent = [];
  onConnected = () => undefined;
});

const egress: Egress = {
  ...createEgress({ policy: { allowPrivate: false, allow: [] } }),
  request: (request) => {
    onConnected();
    const obstacle = request.obstacle?.();
    if (obstacle !== undefined) return Promise.reject(obstacle);
    sent.push(request);
    return Promise.resolve({ status: 200, statusText: '', headers: [], body: Readable.from([]), trailers: () => [] });
  },
};

const send = (kind: ReplayTarget, more: object = {}): Promise<ReplayResult> => {
  const target = kind === 'URL' ? { kind, url: URL_OF_UPSTREAM } : { kind };
  const plan = {
    spec: { target, ...more },
    project: { uid: project.metadata.uid, namespace: 'default', name: 'shop' },
    retentionDays: 1,
    accountUid: account.metadata.uid,
  } as unknown as ReplayPlan;
  const sender = new ReplaySender(
    {
      secrets: { read: () => Promise.resolve(Buffer.from('key')) },
      secretValue: (id) => values.get(id),
      cache,
      translator,
      gatewayUrl: 'http://gateway',
      clusterDomain: 'cluster.local',
      egress: { gateway: egress, upstream: egress },
    },
    { plan, replay: make('Replay', 'again', {}), captureBytesMax: 1_000 },
  );
  const requestHeaders = [['authorization', 'Basic own'] as const];
  const entry = newLogRow({
    endpoint: 'orders',
    endpointUid: ORDERS.metadata.uid,
    path: '/v1',
    target: '/uri/v1',
    requestHeaders,
  });
  return sender.send(toLogEntry(entry), AbortSignal.timeout(10_000));
};
const authorizations = (headers: UpstreamRequest['headers'] = []): string[] =>
  headers.filter(([name]) => /^authorization$/i.test(name)).map(([, value]) => value);

test('a Replay to the upstream has the header, and its result does not contain the value', async () => {
  const result = await send('Upstream');
  expect(sent.map(({ url, headers }) => [url, authorizations(headers)])).toEqual([[URL_OF_UPSTREAM, [SECRET]]]);
  expect(sent[0]?.headers).toContainEqual(['x-plain', 'plain']);
  expect(authorizations(result.sentHeaders)).toEqual(['(from a Secret)']);
  expect(JSON.stringify(result)).not.toContain(SECRET);
});

test('edited headers do not take its place', async () => {
  await send('Upstream', { edit: { headers: [{ name: 'AUTHORIZATION', value: 'edited' }] } });
  expect(authorizations(sent[0]?.headers)).toEqual([SECRET]);
});

test.each<[ReplayTarget, string[]]>([
  ['URL', []],
  ['Endpoint', ['Basic own']],
])('a Replay to the target %s never has it', async (target, expected) => {
  await send(target);
  expect(authorizations(sent[0]?.headers)).toEqual(expected);
});

const UNUSABLE = expect.stringContaining('a Secret that cannot be used now') as string;

test.each<[string, () => void]>([
  ['is withdrawn', () => translator.setSecret('default', 'up', { kind: 'missing' })],
  ['loses the origin', () => translator.setSecret('default', 'up', { ...found, upstreamOrigins: new Set() })],
  ['was not read by this leader', () => values.clear()],
  [
    'belongs to a draft',
    () => translator.put(endpoint('orders', { ...upstreamSpec(), action: 'JSON' }, { generation: 2 })),
  ],
])('a Replay to the upstream is not sent if the Secret %s', async (_what, change) => {
  change();
  translator.flush();
  expect((await send('Upstream')).error).toEqual(UNUSABLE);
  expect(sent).toEqual([]);
});

test('a Replay does not send the header to a new upstream before the Secret is checked for it', async () => {
  cache.put(endpoint('orders', upstreamSpec('https://evil.example'), { generation: 2 }));
  expect((await send('Upstream')).error).toEqual(UNUSABLE);
  expect(sent).toEqual([]);
});

test.each<[string, () => void]>([
  ['is withdrawn', () => values.clear()],
  [
    'is replaced',
    () => {
      translator.setSecret('default', 'up', {
        ...found,
        version: '2',
        values: new Map([['token', { id: 'default/up/token@2' }]]),
      });
      translator.flush();
      values = new Map([['default/up/token@2', Buffer.from('Bearer new')]]);
    },
  ],
])('a Replay that waits for its connection is not sent if the Secret %s', async (_what, change) => {
  onConnected = change;
  expect((await send('Upstream')).error).toBe(secretWithdrawn().message);
  expect(sent).toEqual([]);
});
