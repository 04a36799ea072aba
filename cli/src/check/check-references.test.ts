import { expect, it } from 'vitest';
import { checkReferences, checkServices } from './check-references.ts';
import { component, reading, testInstallation } from './installation.testing.ts';

const gateway = component('gateway', {
  serviceAccountName: 'standin-gateway',
  volumes: [
    { name: 'a', secret: { secretName: 'mounted', items: [{ key: 'tls.crt' }] } },
    { name: 'b', secret: { secretName: 'not-needed', optional: true } },
    {
      name: 'c',
      projected: { sources: [{ configMap: { name: 'projected' } }, { secret: { name: 'projected-secret' } }] },
    },
  ],
  containers: [
    {
      name: 'gateway',
      image: 'standin',
      envFrom: [{ secretRef: { name: 'all-variables' } }],
      env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'variable', key: 'password' } } }],
    },
  ],
  initContainers: [
    {
      name: 'init',
      image: 'standin',
      env: [{ name: 'B', valueFrom: { configMapKeyRef: { name: 'initial', key: 'b' } } }],
    },
  ],
});
const OBJECTS = {
  'secrets/mounted': { data: { 'tls.crt': '' } },
  'secrets/projected-secret': {},
  'secrets/all-variables': {},
  'secrets/variable': { data: { password: '' } },
  'configmaps/projected': {},
  'configmaps/initial': { binaryData: { b: '' } },
  'serviceaccounts/standin-gateway': {},
};
const check = (kind: 'Secret' | 'ConfigMap' | 'ServiceAccount', objects: Readonly<Record<string, object>>) =>
  checkReferences(reading(objects), testInstallation(gateway), kind);

it.each([
  ['Secret', 4],
  ['ConfigMap', 2],
  ['ServiceAccount', 1],
] as const)('every %s that a pod needs is looked up', async (kind, count) => {
  expect(await check(kind, OBJECTS)).toMatchObject([
    { status: 'Passed', message: expect.stringContaining(`(${count})`) as string },
  ]);
  expect((await check(kind, {})).map(({ status }) => status)).toEqual(Array(count).fill('Failed'));
});

it('a missing key is reported', async () => {
  expect(await check('Secret', { ...OBJECTS, 'secrets/variable': { data: { user: '' } } })).toMatchObject([
    { message: 'Secret standin-system/variable has no key password. The pods of gateway need it.' },
  ]);
});

it('the Services are those that the settings name', () => {
  const installation = (services: readonly string[]) => ({
    ...testInstallation(
      component('gateway', {}, { env: { STANDIN_OPERATOR_URLS: 'https://stream.standin-system.svc:8443,https://b' } }),
      component('operator', {}, { env: { STANDIN_REPLAY_GATEWAY_URL: 'http://gateway.standin-system.svc' } }),
      component('dashboard', {}, { env: { STANDIN_SERVICE: 'standin-system/pages' } }),
    ),
    services,
  });
  expect(checkServices(installation(['stream', 'gateway', 'pages']))).toMatchObject([{ status: 'Passed' }]);
  const missing = checkServices(installation([]));
  expect(missing.map(({ message }) => /Service \S+/.exec(message)?.[0])).toEqual([
    'Service standin-system/stream',
    'Service standin-system/gateway',
    'Service standin-system/pages',
  ]);
});
