import type { Objects, ResourceObject, Secrets } from '@standin/contract';
import type { EntryPreview } from '@standin/exchange';
import type { LogStore } from '@standin/logstore';
import type { CachedObjects, TranslateSettings } from '@standin/operator';
import { expect, it } from 'vitest';
import { localBackend } from './local-backend.ts';

const SHOP = { kind: 'Project', metadata: { namespace: 'default', name: 'shop' } } as ResourceObject;

const openByName = (store: Partial<LogStore>, namespace: string, name: string) => {
  const cache: Pick<CachedObjects, 'ofKind'> = { ofKind: () => [SHOP] };
  const { logs } = localBackend({
    objects: {} as Objects,
    secrets: {} as Secrets,
    directory: undefined,
    cache: cache as CachedObjects,
    settings: {} as TranslateSettings,
    keySecret: () => undefined,
    whereIs: () => '',
    inOrigin: String,
    store: store as LogStore,
    gatewayUrl: 'http://localhost:8080',
    gateway: {
      settle: () => Promise.reject(new Error('not expected')),
      recent: () => Promise.reject(new Error('not expected')),
      nextRecord: () => Promise.reject(new Error('not expected')),
    },
    gatherRefusals: () => Promise.reject(new Error('not expected')),
  });
  return logs.openByName?.({ namespace, name });
};

/** Returns whether a project's log can be opened. `projectWithRows` is the only project that has captured rows. */
const isOpened = async (namespace: string, name: string, projectWithRows?: string): Promise<boolean> => {
  const summaries: LogStore['summaries'] = ({ project }) =>
    Promise.resolve(project === projectWithRows ? [{} as never] : []);
  return (await openByName({ summaries }, namespace, name)) !== undefined;
};

it.each([
  ['of a project with a manifest', true, ['default', 'shop']],
  ['of a project in any namespace', true, ['-', 'shop']],
  ['of all projects', true, ['-', '-']],
  ['of a project in another namespace', false, ['team-a', 'shop']],
  ['of an unknown project', false, ['default', 'nope']],
  ['of a project that has captured rows but no manifest', true, ['default', 'nope', 'nope']],
] as const)('whether the log %s can be opened: %s', async (_what, expected, [namespace, name, projectWithRows]) => {
  expect(await isOpened(namespace, name, projectWithRows)).toBe(expected);
});

it.each([
  [true, '-', '-'],
  [true, '-', 'shop'],
  [false, 'team-a', '-'],
])('whether a wait can begin after a request to default/shop: %s, in %s/%s', async (expected, namespace, name) => {
  const preview = { entry: { namespace: 'default', project: 'shop' } } as EntryPreview;
  const log = await openByName({ preview: () => Promise.resolve(preview) }, namespace, name);
  expect((await log?.preview('id', 0)) !== undefined).toBe(expected);
});
