import { authorityUid, configKey, type CertificatesValue } from '@standin/contract';
import { describe, expect, it } from 'vitest';
import { Authorities } from './authorities.ts';
import { account, createTranslator, endpoint, project } from './translator.testing.ts';

const FORWARD = { action: 'Forward', forward: { url: 'https://a.example/', tls: { caRef: { name: 'ca' } } } };
const configMap = (value: CertificatesValue | undefined, key = 'ca.crt') => ({
  namespace: 'default',
  name: 'ca',
  data: value === undefined ? undefined : { [key]: value },
});
const A = { certificates: 'A' };
const B = { certificates: 'B' };
const KEY = configKey({ kind: 'Authority', uid: authorityUid('default', { name: 'ca', key: 'ca.crt' }) });

describe('the certificates in a ConfigMap', () => {
  it('are sent once for all endpoints, which do not change with them', () => {
    const many = Array.from({ length: 1_000 }, (_, index) => endpoint(`e${index}`, { ...FORWARD, slug: `/${index}` }));
    const translator = createTranslator(account, project, ...many);
    translator.configMaps.put(configMap(A));
    expect(translator.flush().put.filter(({ kind }) => kind === 'Authority')).toMatchObject([{ certificates: 'A' }]);
    translator.takeDependents();
    translator.configMaps.put(configMap(B));
    expect(translator.flush()).toMatchObject({ put: [{ kind: 'Authority', certificates: 'B' }], verdicts: [] });
    expect(translator.takeDependents().size).toBe(0);
  });

  it('are removed with their data key, and with the ConfigMap', () => {
    const translator = createTranslator(account, project, endpoint('a', FORWARD));
    for (const removal of [
      () => translator.configMaps.put(configMap(A, 'other')),
      () => translator.configMaps.put(configMap({ problem: 'is empty' })),
      () => translator.configMaps.put(configMap(undefined)),
      () => translator.configMaps.remove({ namespace: 'default', name: 'ca' }),
    ]) {
      translator.configMaps.put(configMap(A));
      expect(translator.flush().verdicts).toMatchObject([{ resolvedRefs: { ok: true } }]);
      removal();
      expect(translator.flush()).toMatchObject({ remove: [KEY], verdicts: [{ resolvedRefs: { ok: false } }] });
    }
  });

  // An operator that is busy for longer than `LIMITS.leaseRenewDeadlineMs` stops leading.
  it('take the same time to find, however many other data keys there are', () => {
    const authorities = new Authorities();
    const keys = Array.from({ length: 60_000 }, (_, index) => [`k${index}`, { problem: 'is empty' }] as const);
    authorities.set(configMap(A), { ...configMap(A), data: Object.fromEntries(keys) });
    const begun = process.cpuUsage();
    for (let at = 0; at < 1_000; at++)
      expect(authorities.fault('default', { kind: 'ConfigMap', name: 'ca', key: 'ca.crt' })?.path).toMatch(/key$/);
    expect(process.cpuUsage(begun).user / 1_000).toBeLessThan(1_000);
  });

  it('stay in use while ConfigMaps cannot be read, and the reason is shown for others', () => {
    const translator = createTranslator(
      account,
      project,
      endpoint('a', FORWARD),
      endpoint('b', { ...FORWARD, slug: '/b', forward: { url: 'https://b/', tls: { caRef: { name: 'b' } } } }),
    );
    translator.configMaps.put(configMap(A));
    translator.flush();
    for (const namespace of [undefined, 'default']) {
      translator.configMaps.readable(namespace, 'The permission is missing.');
      expect(translator.flush().verdicts).toMatchObject([
        {
          ref: { name: 'b' },
          resolvedRefs: {
            reason: 'ConfigMapsNotReadable',
            message: 'The permission is missing. Until then, connections to the upstream fail.',
          },
        },
      ]);
      translator.configMaps.readable(namespace, undefined);
      expect(translator.flush().verdicts).toMatchObject([
        { ref: { name: 'b' }, resolvedRefs: { reason: 'ConfigMapNotFound' } },
      ]);
    }
  });
});
