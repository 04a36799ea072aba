import { GROUP_VERSION, type ResourceObject } from '@standin/contract';
import type { LogEntry } from '@standin/logstore';
import { describe, expect, it } from 'vitest';
import { AddressLimit } from './address-limit.ts';
import { publicShares, type PublicShares } from './public-shares.ts';
import { ShareIndex } from './share-index.ts';
import { createShareToken, isShareToken, shareTokenSha256 } from './share-token.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const TOKEN = createShareToken();
const SHA256 = shareTokenSha256(TOKEN);
const REQUEST = '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe';
const ACCEPTED = { conditions: [{ type: 'Accepted', status: 'True', observedGeneration: 1 }] };

const object = (kind: ResourceObject['kind'], name: string, rest: Partial<ResourceObject>): ResourceObject => ({
  apiVersion: GROUP_VERSION,
  kind,
  metadata: {
    ...{ name, namespace: 'default', uid: `uid of ${name}`, generation: 1, resourceVersion: '1' },
    creationTimestamp: '2026-11-21T11:00:00Z',
    ...rest.metadata,
  },
  spec: rest.spec,
  status: rest.status,
});
const project = object('Project', 'shop', { spec: { accountRef: { name: 'default' } } });
const SPEC = {
  projectRef: { name: 'shop' },
  requestId: REQUEST,
  tokenSha256: SHA256,
  expiresAt: '2026-11-21T13:00:00Z',
  redact: {},
};
const condition = {
  ...{ reason: 'Accepted', message: '', lastTransitionTime: '2026-11-21T11:00:00Z' },
  ...ACCEPTED.conditions[0],
};
const share = (changes: Partial<ResourceObject> = {}, spec: object = {}, name = 'link'): ResourceObject =>
  object('Share', name, { spec: { ...SPEC, ...spec }, status: { conditions: [condition] }, ...changes });

const entry = {
  id: REQUEST,
  projectUid: 'uid of shop',
  method: 'GET',
  path: '/a',
  query: '',
  request: { headers: [['x-token', 'secret']], trailers: [], body: '', bodyEncoding: 'utf8', target: '/u/a' },
  response: { headers: [], trailers: [], body: '', bodyEncoding: 'utf8', bodyBytes: 0, truncated: false },
  upstreamUrl: '',
  upstreamError: '',
} as unknown as LogEntry;

const sharesOf = (objects: readonly ResourceObject[], entries: readonly LogEntry[] = [entry]): PublicShares => {
  const index = new ShareIndex();
  for (const each of objects) index.put(each);
  return publicShares({
    now: () => NOW,
    store: { get: (id) => Promise.resolve(entries.find((each) => each.id === id)) },
    source: {
      find: (sha256) => {
        const found = index.find(sha256);
        const projectUid = found && index.projectUidOf(found);
        return Promise.resolve(found && projectUid !== undefined ? { share: found, projectUid } : undefined);
      },
    },
  });
};

describe('a link', () => {
  it('shows the entry, with what its Share hides', async () => {
    const opened = await sharesOf([project, share({}, { redact: { headers: ['x-token'] } })]).open(TOKEN);
    expect(opened?.exchange.request.headers).toEqual([['x-token', '[redacted]']]);
    expect(opened?.expiresAt).toBe(SPEC.expiresAt);
  });

  it('of a Share without rules hides what looks like a secret', async () => {
    const opened = await sharesOf([project, share({}, { redact: undefined })]).open(TOKEN);
    expect(opened?.exchange.request.headers).toEqual([['x-token', '[redacted]']]);
  });

  it.each([
    ['there is no such Share', [project]],
    ['it has expired', [project, share({}, { expiresAt: '2026-11-21T12:00:00Z' })]],
    ['the operator has not accepted it', [project, share({ status: undefined })]],
    ['the operator has refused it', [project, share({ status: { conditions: [{ ...condition, status: 'False' }] } })]],
    [
      'the operator accepted what it was before',
      [project, share({ status: { conditions: [{ ...condition, observedGeneration: 0 }] } })],
    ],
    ['its Project is gone', [share()]],
    [
      'its Project was made anew',
      [object('Project', 'shop', { ...project, metadata: { ...project.metadata, uid: 'another' } }), share()],
    ],
    ['its entry is gone', [project, share({}, { requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0caff' })]],
    ['it is of another namespace', [project, share({ metadata: { ...share().metadata, namespace: 'other' } })]],
    ['its spec cannot be read', [project, share({ spec: { ...SPEC, tokenSha256: SHA256, extra: 1 } })]],
  ])('shows nothing where %s', async (_, objects) => {
    expect(await sharesOf(objects).open(TOKEN)).toBeUndefined();
  });

  it.each(['', 'x', `${TOKEN}x`, `${TOKEN.slice(0, -1)}/`, SHA256, '../', '%00', createShareToken()])(
    'shows nothing for %s',
    async (token) => {
      expect(await sharesOf([project, share()]).open(token)).toBeUndefined();
    },
  );

  it('is not taken over by a younger Share with the same hash, whatever becomes of the older one', async () => {
    const younger = share({
      metadata: { ...share().metadata, name: 'younger', uid: 'z', creationTimestamp: '2026-11-21T11:30:00Z' },
    });
    const hidden = share({ status: undefined });
    expect(await sharesOf([project, younger, hidden]).open(TOKEN)).toBeUndefined();
  });
});

describe('ShareIndex', () => {
  it('forgets what was removed or says another token now', () => {
    const index = new ShareIndex();
    index.put(share());
    expect(index.find(SHA256)?.metadata.name).toBe('link');
    index.put(share({}, { tokenSha256: 'f'.repeat(64) }));
    expect(index.find(SHA256)).toBeUndefined();
    index.put(share());
    index.remove({ kind: 'Share', namespace: 'default', name: 'link' });
    expect(index.find(SHA256)).toBeUndefined();
  });
});

describe('AddressLimit', () => {
  const limit = (): AddressLimit => new AddressLimit({ burst: 2, perSecond: 1, addressesMax: 2 });

  it('lets an address come so often at once, and then at a rate', () => {
    const limited = limit();
    expect([0, 0, 0].map((now) => limited.take('192.0.2.1', now))).toEqual([0, 0, 1_000]);
    expect([limited.take('192.0.2.1', 500), limited.take('192.0.2.1', 1_000)]).toEqual([500, 0]);
    expect(limited.take('192.0.2.2', 0)).toBe(0);
  });

  it('counts a /64 of IPv6 as one, and IPv4 in IPv6 as IPv4', () => {
    const limited = limit();
    expect(['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2:3::4'].map((from) => limited.take(from, 0))).toEqual([
      0, 0, 1_000,
    ]);
    expect(['::ffff:192.0.2.1', '192.0.2.1', '192.0.2.1'].map((from) => limited.take(from, 0))).toEqual([0, 0, 1_000]);
  });

  it('remembers so many addresses and no more', () => {
    const limited = limit();
    for (const address of ['a', 'a', 'b', 'c']) limited.take(address, 0);
    expect(limited.take('a', 0)).toBe(0);
  });
});

it('makes another token of 256 bits each time', () => {
  expect(isShareToken(TOKEN)).toBe(true);
  expect(Buffer.from(TOKEN, 'base64url')).toHaveLength(32);
  expect(createShareToken()).not.toBe(TOKEN);
});
