import { GROUP_VERSION, type LogRow, type ResourceObject } from '@standin/contract';
import pino from 'pino';
import { afterAll, describe, expect, it } from 'vitest';
import { newLogRow } from '@standin/exchange/testing';
import { startWorkers } from '../workers/workers.ts';
import { AddressLimit } from './address-limit.ts';
import { publicShares, type PublicShares, type PublicSharesSource } from './public-shares.ts';
import { ShareCache } from './share-cache.ts';
import { ShareIndex } from './share-index.ts';
import { createShareToken, isShareToken, shareTokenSha256 } from './share-token.ts';
import type { SharedExchange } from '../captured/shared-exchange.ts';
import { WorkRefused } from '../workers/work-refused.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const TOKEN = createShareToken();
const SHA256 = shareTokenSha256(TOKEN);
const REQUEST = '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe';
const ACCEPTED = { conditions: [{ type: 'Accepted', status: 'True', observedGeneration: 1 }] };

const object = (kind: ResourceObject['kind'], name: string, rest: Partial<ResourceObject>): ResourceObject => ({
  apiVersion: GROUP_VERSION,
  kind,
  metadata: {
    name,
    namespace: 'default',
    uid: `uid of ${name}`,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-11-21T11:00:00Z',
    ...rest.metadata,
  },
  spec: rest.spec,
  status: rest.status,
});
const account = (plan: string) => object('Account', 'default', { spec: { plan } });
const project = object('Project', 'shop', { spec: { displayName: 'Shop', accountRef: { name: 'default' } } });
const SPEC = {
  projectRef: { name: 'shop' },
  requestId: REQUEST,
  tokenSha256: SHA256,
  expiresAt: '2026-11-21T13:00:00Z',
  redact: {},
};
const condition = {
  reason: 'Accepted',
  message: '',
  lastTransitionTime: '2026-11-21T11:00:00Z',
  ...ACCEPTED.conditions[0],
};
const share = (changes: Partial<ResourceObject> = {}, spec: object = {}, name = 'link'): ResourceObject =>
  object('Share', name, { spec: { ...SPEC, ...spec }, status: { conditions: [condition] }, ...changes });

const row = newLogRow({
  id: REQUEST,
  projectUid: 'uid of shop',
  method: 'GET',
  path: '/a',
  query: '',
  target: '/u/a',
  requestHeaders: [['x-token', 'secret']],
  requestBody: new Uint8Array(),
  responseBody: new Uint8Array(),
});

const workers = startWorkers();
afterAll(() => workers.close());

/** The existing objects, which tests may change. */
class World implements PublicSharesSource {
  readonly index = new ShareIndex();
  readonly rows: LogRow[];
  /** The number of times that a whole row was read. */
  reads = 0;

  constructor(objects: readonly ResourceObject[], rows: readonly LogRow[] = [row]) {
    this.rows = [...rows];
    this.index.put(account('Pro'));
    for (const each of objects) this.index.put(each);
  }

  readonly source: PublicSharesSource['source'] = {
    find: (sha256) => {
      const found = this.index.find(sha256);
      const project = found && this.index.findProject(found);
      return Promise.resolve(project && { share: found, projectUid: project.metadata.uid, surroundings: this.index });
    },
  };

  readonly store: PublicSharesSource['store'] = {
    row: (id) => {
      this.reads += 1;
      return Promise.resolve(this.#row(id));
    },
    version: (id) => Promise.resolve(this.#row(id)),
  };

  #row(id: string): LogRow | undefined {
    return this.rows.findLast((each) => each.id === id);
  }
}

const sharesIn = ({ source, store }: World): PublicShares => publicShares({ source, store, workers, now: () => NOW });

const testShares = (objects: readonly ResourceObject[], rows?: readonly LogRow[]): PublicShares =>
  sharesIn(new World(objects, rows));

describe('a link', () => {
  it('shows the entry with its Share’s redactions', async () => {
    const opened = await testShares([project, share({}, { redact: { headers: ['x-token'] } })]).open(TOKEN);
    expect(opened?.exchange.request.headers).toEqual([['x-token', '[redacted]']]);
    expect(opened?.expiresAt).toBe(SPEC.expiresAt);
  });

  it('is recorded with its Share as the reader, and only if it shows something', async () => {
    const lines: object[] = [];
    const audit = pino(
      { base: {}, timestamp: false },
      { write: (line: string) => lines.push(JSON.parse(line) as object) },
    );
    const world = new World([project, share()]);
    const links = publicShares({ source: world.source, store: world.store, audit, workers, now: () => NOW });
    await links.open(createShareToken());
    expect(lines).toEqual([]);
    await links.open(TOKEN);
    const read = {
      namespace: 'default',
      project: 'shop',
      projectUid: 'uid of shop',
      read: 'request',
      requests: [REQUEST],
    };
    expect(lines).toEqual([{ level: 30, via: 'link', share: 'link', ...read, msg: 'log read' }]);
  });

  it('redacts values that look like secrets if its Share has no rules', async () => {
    const opened = await testShares([project, share({}, { redact: undefined })]).open(TOKEN);
    expect(opened?.exchange.request.headers).toEqual([['x-token', '[redacted]']]);
  });

  it('works as soon as the log has its entry, even if the operator has not found the entry yet', async () => {
    const ready = { ...condition, type: 'Ready', status: 'False', reason: 'RequestNotFound' };
    const opened = await testShares([project, share({ status: { conditions: [condition, ready] } })]).open(TOKEN);
    expect(opened?.exchange.target).toBe('/a');
  });

  it.each([
    ['there is no such Share', [project]],
    ['it has expired', [project, share({}, { expiresAt: '2026-11-21T12:00:00Z' })]],
    ['the operator has not accepted it', [project, share({ status: undefined })]],
    ['the operator has refused it', [project, share({ status: { conditions: [{ ...condition, status: 'False' }] } })]],
    [
      'the operator has refused it, whatever Ready is',
      [
        project,
        share({
          status: {
            conditions: [
              { ...condition, status: 'False' },
              { ...condition, type: 'Ready' },
            ],
          },
        }),
      ],
    ],
    [
      'the operator accepted an earlier generation',
      [project, share({ status: { conditions: [{ ...condition, observedGeneration: 0 }] } })],
    ],
    ['its account is not on the Pro plan, whatever its status is', [account('Free'), project, share()]],
    ['it lasts too long, whatever its status is', [project, share({}, { expiresAt: '2027-11-21T13:00:00Z' })]],
    ['its Project no longer exists', [share()]],
    [
      'its Project was created again',
      [object('Project', 'shop', { ...project, metadata: { ...project.metadata, uid: 'another' } }), share()],
    ],
    ['its entry no longer exists', [project, share({}, { requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0caff' })]],
    ['it is in another namespace', [project, share({ metadata: { ...share().metadata, namespace: 'other' } })]],
    ['its spec cannot be read', [project, share({ spec: { ...SPEC, tokenSha256: SHA256, extra: 1 } })]],
  ])('shows nothing if %s', async (_, objects) => {
    expect(await testShares(objects).open(TOKEN)).toBeUndefined();
  });

  it.each([
    ['uid', { projectUid: 'uid of another' }],
    ['namespace', { namespace: 'other' }],
    ['name', { project: 'other' }],
  ])('shows nothing if its entry belongs to a project with another %s', async (_, other) => {
    expect(await testShares([project, share()], [{ ...row, ...other }]).open(TOKEN)).toBeUndefined();
  });

  it.each(['', 'x', `${TOKEN}x`, `${TOKEN.slice(0, -1)}/`, SHA256, '../', '%00', createShareToken()])(
    'shows nothing for %s',
    async (token) => {
      expect(await testShares([project, share()]).open(token)).toBeUndefined();
    },
  );

  it('is not taken over by a newer Share with the same hash', async () => {
    const younger = share({
      metadata: { ...share().metadata, name: 'younger', uid: 'z', creationTimestamp: '2026-11-21T11:30:00Z' },
    });
    const hidden = share({ status: undefined });
    expect(await testShares([project, younger, hidden]).open(TOKEN)).toBeUndefined();
  });
});

describe('a link’s content', () => {
  const large = newLogRow({ ...row, requestBody: Buffer.alloc(1024 * 1024, '{"a":1,"token":"secret-0123456789"},') });

  it('is created once for all clients, even if they are concurrent', async () => {
    const world = new World([project, share({}, { redact: undefined })], [large]);
    const shares = sharesIn(world);
    const opened = await Promise.all(Array.from({ length: 20 }, () => shares.open(TOKEN)));
    expect(new Set(opened.map((each) => each?.exchange)).size).toBe(1);
    expect(opened[0]?.exchange.request.body.includes('secret-0123456789')).toBe(false);
    await shares.open(TOKEN);
    expect(world.reads).toBe(1);
  });

  it('is unavailable after the Share is revoked, even during redaction', async () => {
    const world = new World([project, share()], [large]);
    const shares = sharesIn(world);
    const opening = [shares.open(TOKEN), shares.open(TOKEN)];
    world.index.remove({ kind: 'Share', namespace: 'default', name: 'link' });
    expect(await Promise.all(opening)).toEqual([undefined, undefined]);
    world.index.put(share());
    expect(await shares.open(TOKEN)).toBeDefined();
    world.index.remove({ kind: 'Share', namespace: 'default', name: 'link' });
    expect(await shares.open(TOKEN)).toBeUndefined();
  });

  it('is created again when the Share, its uid or the row changes', async () => {
    const world = new World([project, share()]);
    const shares = sharesIn(world);
    const shown = async () => (await shares.open(TOKEN))?.exchange;
    expect((await shown())?.request.headers).toEqual([['x-token', 'secret']]);
    const hides = { redact: { headers: ['x-token'] } };
    world.index.put(
      share(
        {
          metadata: { ...share().metadata, generation: 2 },
          status: { conditions: [{ ...condition, observedGeneration: 2 }] },
        },
        hides,
      ),
    );
    expect((await shown())?.request.headers).toEqual([['x-token', '[redacted]']]);
    world.index.put(share({ metadata: { ...share().metadata, uid: 'another' } }));
    expect((await shown())?.request.headers).toEqual([['x-token', 'secret']]);
    world.rows.push({ ...row, version: 1, requestHeaders: [['x-token', 'of the other row']] });
    expect((await shown())?.request.headers).toEqual([['x-token', 'of the other row']]);
    world.rows.length = 0;
    expect(await shown()).toBeUndefined();
  });
});

describe('ShareCache', () => {
  const exchange = (body: string): SharedExchange =>
    ({
      target: '',
      request: { body, headers: [], trailers: [] },
      response: { body: '', headers: [], trailers: [] },
    }) as unknown as SharedExchange;
  const KIB = 'x'.repeat(512);
  const link = (tokenSha256: string, namespace = 'team') => ({ tokenSha256, namespace, identity: 'id' });

  it('limits bytes and links, and evicts the least recently used link', async () => {
    const cache = new ShareCache({ bytesMax: 3 * 1024, linksMax: 10 });
    let made = 0;
    const get = (token: string) =>
      cache.get(link(token), () => {
        made += 1;
        return Promise.resolve(exchange(KIB));
      });
    for (const token of ['a', 'b', 'c', 'a', 'd', 'a', 'c', 'd']) await get(token);
    expect(made).toBe(4);
    await get('b');
    expect(made).toBe(5);
    const few = new ShareCache({ linksMax: 1 });
    await few.get(link('a'), () => Promise.resolve(exchange('')));
    await few.get(link('b'), () => Promise.resolve(exchange('')));
    expect([few.isReady(link('a')), few.isReady(link('b'))]).toEqual([false, true]);
  });

  it('evicts only links of the namespace that has the most', async () => {
    for (const limits of [{ bytesMax: 3 * 1024 }, { linksMax: 3 }]) {
      const cache = new ShareCache(limits);
      const get = (token: string, namespace: string) =>
        cache.get(link(token, namespace), () => Promise.resolve(exchange(KIB)));
      await get('quiet', 'team');
      for (const token of ['a', 'b', 'c', 'd']) await get(token, 'busy');
      const isReady = ['quiet', 'a', 'b', 'c', 'd'].map((token) => cache.isReady(link(token)));
      expect(isReady).toEqual([true, false, false, true, true]);
    }
  });

  it('does not evict what is being created, so that it is created only once', async () => {
    const cache = new ShareCache({ bytesMax: 1024, linksMax: 1 });
    const made = Promise.withResolvers<SharedExchange>();
    const first = cache.get(link('a'), () => made.promise);
    for (const token of ['b', 'c']) await cache.get(link(token), () => Promise.resolve(exchange(KIB)));
    const second = cache.get(link('a'), () => Promise.reject(new Error('created twice')));
    made.resolve(exchange(''));
    expect(await second).toBe(await first);
  });

  it('limits concurrent work', async () => {
    const cache = new ShareCache({ makingMax: 1 });
    const made = Promise.withResolvers<SharedExchange>();
    const first = cache.get(link('a'), () => made.promise);
    const second = cache.get(link('a'), () => made.promise);
    await expect(cache.get(link('b'), () => made.promise)).rejects.toMatchObject({ reason: 'Busy' });
    made.resolve(exchange(''));
    expect(await first).toBe(await second);
    expect(await cache.get(link('b'), () => made.promise)).toBe(await first);
  });

  it('gives the place of work back that fails before it begins', async () => {
    const cache = new ShareCache({ makingMax: 1 });
    const fails = () => {
      throw new Error('broken');
    };
    await expect(cache.get(link('a'), fails)).rejects.toThrow('broken');
    expect(await cache.get(link('a'), () => Promise.resolve(undefined))).toBeUndefined();
  });

  it('leaves places for the links of other namespaces', async () => {
    const cache = new ShareCache({ makingMax: 2, waitingMax: 4 });
    const made = Promise.withResolvers<SharedExchange>();
    const open = (token: string, namespace: string) => cache.get(link(token, namespace), () => made.promise);
    const first = open('a', 'team');
    await expect(open('b', 'team')).rejects.toMatchObject({ reason: 'Busy' });
    const others = [open('c', 'other')];
    // Two openings of the same link wait for one exchange.
    others.push(open('a', 'team'));
    await expect(open('a', 'team')).rejects.toMatchObject({ reason: 'Busy' });
    made.resolve(exchange(''));
    expect(new Set(await Promise.all([first, ...others])).size).toBe(1);
    expect(await open('a', 'team')).toBe(await first);
  });

  it('retries failed work, but not work that took too long', async () => {
    const cache = new ShareCache();
    let tries = 0;
    const fail = (error: Error) => () => {
      tries += 1;
      return Promise.reject(error);
    };
    for (const reason of ['TooSlow', 'TooSlow', 'TooSlow'] as const)
      await expect(cache.get(link('slow'), fail(new WorkRefused(reason)))).rejects.toMatchObject({ reason });
    expect(tries).toBe(1);
    for (const error of [new Error('x'), new WorkRefused('Busy'), new WorkRefused('Busy')])
      await expect(cache.get(link('busy'), fail(error))).rejects.toBe(error);
    expect(tries).toBe(4);
  });
});

describe('ShareIndex', () => {
  it('removes deleted Shares and replaced tokens', () => {
    const index = new ShareIndex();
    index.put(share());
    expect(index.find(SHA256)?.metadata.name).toBe('link');
    index.put(share({}, { tokenSha256: 'f'.repeat(64) }));
    expect(index.find(SHA256)).toBeUndefined();
    index.put(share());
    index.remove({ kind: 'Share', namespace: 'default', name: 'link' });
    expect(index.find(SHA256)).toBeUndefined();
  });

  it('keeps the links of a namespace, however many another one has', () => {
    const index = new ShareIndex(10);
    const token = (number: number): string => String(number).padStart(64, '0');
    index.put(share());
    index.put({ ...share(), kind: 'Project', metadata: { ...share().metadata, name: 'shop' } });
    for (let number = 0; number < 100; number += 1) {
      const metadata = { ...share().metadata, namespace: 'noisy', name: `link-${number}`, uid: `link-${number}` };
      const noisy = share({}, { tokenSha256: token(number) });
      index.put({ ...noisy, metadata });
      index.put({ ...noisy, kind: 'Project', metadata });
    }
    expect(index.find(SHA256)?.metadata.name).toBe('link');
    expect(index.findProject(share())).toBeDefined();
    const found = Array.from({ length: 100 }, (_, number) => index.find(token(number))).filter(
      (one) => one !== undefined,
    );
    expect(found.map(({ metadata }) => metadata.name)).toEqual(Array.from({ length: 9 }, (_, at) => `link-${at + 91}`));
  });
});

describe('AddressLimit', () => {
  const limit = (): AddressLimit => new AddressLimit({ burst: 2, perSecond: 1, addressesMax: 2 });

  it('allows a burst, then a steady rate', () => {
    const limited = limit();
    expect([0, 0, 0].map((now) => limited.take('192.0.2.1', now))).toEqual([0, 0, 1_000]);
    expect([limited.take('192.0.2.1', 500), limited.take('192.0.2.1', 1_000)]).toEqual([500, 0]);
    expect(limited.take('192.0.2.2', 0)).toBe(0);
  });

  it('counts an IPv6 /64 network as one address, and an IPv4-mapped address as IPv4', () => {
    const limited = limit();
    expect(['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2:3::4'].map((from) => limited.take(from, 0))).toEqual([
      0, 0, 1_000,
    ]);
    expect(['2001:db8::1', '2001:db8::2', '2001:0db8:0::3'].map((from) => limited.take(from, 0))).toEqual([
      0, 0, 1_000,
    ]);
    expect(['::ffff:192.0.2.1', '192.0.2.1', '192.0.2.1'].map((from) => limited.take(from, 0))).toEqual([0, 0, 1_000]);
  });

  it('returns the time to wait without counting a request', () => {
    const limited = limit();
    for (let times = 0; times < 5; times += 1) expect(limited.waitMs('192.0.2.1', 0)).toBe(0);
    limited.take('192.0.2.1', 0);
    limited.take('192.0.2.1', 0);
    expect(limited.waitMs('192.0.2.1', 0)).toBe(1_000);
  });

  it('limits the number of remembered addresses', () => {
    const limited = limit();
    for (const address of ['a', 'a', 'b', 'c']) limited.take(address, 0);
    expect(limited.take('a', 0)).toBe(0);
  });
});

it('each new token is different and has 256 bits', () => {
  expect(isShareToken(TOKEN)).toBe(true);
  expect(Buffer.from(TOKEN, 'base64url')).toHaveLength(32);
  expect(createShareToken()).not.toBe(TOKEN);
});
