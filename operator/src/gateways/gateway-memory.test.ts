import { ApiError, type KubeClient, type KubeObject } from '@standin/kube';
import { beforeEach, expect, test } from 'vitest';
import { gatewayConfigMap, type GatewayMemory } from './gateway-memory.ts';

const PATH = '/api/v1/namespaces/standin-system/configmaps/gateways';

let stored: KubeObject | undefined;
let versions: number;
/** Called before each write. May throw. */
let disturb: () => void;

const failure = (status: number, reason: string): ApiError =>
  new ApiError(reason, { status, reason, request: `PUT ${PATH}` });
const store = (object: KubeObject, uid: string): KubeObject => {
  stored = { ...object, metadata: { ...object.metadata, uid, resourceVersion: String(++versions) } };
  return stored;
};
/** The calls of the API server that the memory uses. */
const client = {
  get: (path: string) => {
    expect(path).toBe(PATH);
    return stored === undefined ? Promise.reject(failure(404, 'NotFound')) : Promise.resolve(stored);
  },
  create: (_path: string, object: KubeObject) => {
    disturb();
    return stored === undefined
      ? Promise.resolve(store(object, `uid-${versions}`))
      : Promise.reject(failure(409, 'AlreadyExists'));
  },
  replace: (_path: string, object: KubeObject, version: { uid: string; resourceVersion: string }) => {
    disturb();
    if (stored === undefined) return Promise.reject(failure(404, 'NotFound'));
    const { uid, resourceVersion } = stored.metadata;
    return version.uid === uid && version.resourceVersion === resourceVersion
      ? Promise.resolve(store(object, uid))
      : Promise.reject(failure(409, 'Conflict'));
  },
} as Partial<KubeClient> as KubeClient;

const memory = (): GatewayMemory => gatewayConfigMap(client, 'standin-system', 'gateways');
const known = (...names: string[]) => names.map((name) => ({ name, maxStalenessMs: name === 'b' ? 5_000 : 0 }));

beforeEach(() => {
  stored = undefined;
  versions = 0;
  disturb = () => undefined;
});

test('the next leader reads the gateways that were stored last', async () => {
  const first = memory();
  expect(await first.read()).toEqual([]);
  await first.write(known('a'));
  await first.write(known('a', 'b'));
  expect(await memory().read()).toEqual(known('a', 'b'));
  await first.write([]);
  expect(await memory().read()).toEqual([]);
});

test.each([
  ['another leader wrote in the meantime', async () => (await readBy(memory())).write(known('other'))],
  ['another leader created the ConfigMap again', async () => ((stored = undefined), memory().write(known('other')))],
  ['the ConfigMap was deleted', () => Promise.resolve((stored = undefined))],
])('a write is rejected once if %s, and its retry succeeds', async (_, interfere) => {
  const own = memory();
  await own.read();
  await own.write(known('a'));
  await interfere();
  const others = stored;
  await expect(own.write(known('a', 'b'))).rejects.toThrow();
  expect(stored).toBe(others);
  await own.write(known('a', 'b'));
  expect(await memory().read()).toEqual(known('a', 'b'));
});

test('a first write is rejected once if another leader created the ConfigMap, and its retry succeeds', async () => {
  const own = memory();
  await own.read();
  await memory().write(known('other'));
  await expect(own.write(known('a'))).rejects.toThrow();
  expect(await memory().read()).toEqual(known('other'));
  await own.write(known('a'));
  expect(await memory().read()).toEqual(known('a'));
});

test('a write that fails for another reason does not take over the version of another leader', async () => {
  const own = memory();
  await own.write(known('a'));
  disturb = () => {
    throw failure(503, 'ServiceUnavailable');
  };
  await expect(own.write(known('a', 'b'))).rejects.toThrow('ServiceUnavailable');
  disturb = () => undefined;
  await (await readBy(memory())).write(known('other'));
  await expect(own.write(known('a', 'b'))).rejects.toThrow('Conflict');
});

const readBy = async (reader: GatewayMemory): Promise<GatewayMemory> => {
  await reader.read();
  return reader;
};
