import { GROUP_VERSION } from '@standin/contract';
import { clientFor, FakeApiServer, json } from '@standin/kube/testing';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { followClusterShares } from './cluster-shares.ts';
import { Identities } from './identities.ts';

const TOKEN_SHA256 = 'a'.repeat(64);

const item = (name: string, spec: object) => ({
  apiVersion: GROUP_VERSION,
  metadata: {
    name,
    namespace: 'team',
    uid: name,
    resourceVersion: '1',
    annotations: { note: 'x'.repeat(100_000), tool: 'argo' },
  },
  spec,
});
const SHARE = item('link', {
  projectRef: { name: 'shop' },
  requestId: '0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe',
  tokenSha256: TOKEN_SHA256,
  expiresAt: '2099-01-01T00:00:00Z',
});
const ITEMS: Readonly<Record<string, object>> = {
  mockaccounts: item('default', { plan: 'Pro' }),
  mockprojects: item('shop', { displayName: 'Shop', accountRef: { name: 'default' } }),
  mockshares: SHARE,
};

it('keeps only small parts of what links need, and reads a Share that is opened as a whole', async () => {
  const server = new FakeApiServer(({ path, query }, response) => {
    if (query.has('watch')) response.writeHead(200).flushHeaders();
    else if (path.endsWith('/link')) json(response, 200, SHARE);
    else json(response, 200, { metadata: { resourceVersion: '1' }, items: [ITEMS[path.split('/').at(-1) ?? '']] });
  });
  await server.start();
  const stopping = new AbortController();
  onTestFinished(async () => {
    stopping.abort();
    await server.stop();
  });
  const client = clientFor(server);
  const view = { client, namespaces: [], logger: pino({ level: 'silent' }), signal: stopping.signal };
  const links = followClusterShares(view, new Identities({ holdIdentities: () => Promise.resolve([]) }));
  await expect.poll(() => links.find(TOKEN_SHA256).catch(() => undefined)).toBeDefined();
  const { share, surroundings } = (await links.find(TOKEN_SHA256)) ?? {};
  expect(share?.metadata.annotations).toEqual(SHARE.metadata.annotations);
  for (const [kind, name] of [
    ['Project', 'shop'],
    ['Account', 'default'],
  ] as const) {
    const kept = surroundings?.object(kind, 'team', name);
    expect(kept).toMatchObject({ metadata: { name }, spec: ITEMS[`mock${kind.toLowerCase()}s`]?.['spec' as never] });
    expect(kept?.metadata.annotations).toEqual({ tool: 'argo' });
  }
});
