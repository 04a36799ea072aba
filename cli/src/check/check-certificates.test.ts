import { describe, expect, it } from 'vitest';
import { checkCertificates, checkIssuance } from './check-certificates.ts';
import { component, reading, testInstallation } from './installation.testing.ts';

/** Base64 of a certificate that is valid in 2026. */
const VALID_IN_2026 =
  'MIIBDjCBtaADAgECAgEBMAoGCCqGSM49BAMCMA8xDTALBgNVBAMTBHRlc3QwHhcNMjYwMTAxMDAwMDAwWhcNMjcwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDEwR0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEFTbvs0ChNSPpBplZuWLNdHKrlMVNsIJY2QM3Q+rAlsxQy6J20AOR+wfxWtlDi1xsk3yfyzVRwKoKca8FLjKljqMCMAAwCgYIKoZIzj0EAwIDSAAwRQIhANPb+9T1EdMjCm5SUEXSzJVzHpTAufVlt3h3JwfOvu23AiA9aqtlEpC12V8zO7enzUasQWYTgIIge9eW0i4vOgHjUA==';
const PEM = Buffer.from(`-----BEGIN CERTIFICATE-----\n${VALID_IN_2026}\n-----END CERTIFICATE-----\n`).toString(
  'base64',
);

const mounting = (secretName: string, env: Readonly<Record<string, string>> = {}) =>
  testInstallation(
    component('gateway', { volumes: [{ name: 'stream-tls', secret: { secretName } }] }),
    component('operator', {}, { env }),
  );
const check = (now: string, data: Readonly<Record<string, string>> = { 'tls.crt': PEM, 'tls.key': 'x' }) =>
  checkCertificates(reading({ 'secrets/stream-tls': { data } }), mounting('stream-tls'), new Date(now));

describe('the certificates', () => {
  it.each([
    [
      '2025-12-31T23:59:59Z',
      'tls.crt in Secret standin-system/stream-tls is not valid before 2026-01-01T00:00:00.000Z.',
    ],
    ['2026-01-01T00:00:01Z', undefined],
    // A tenth of the lifetime is left.
    ['2026-11-25T11:00:00Z', undefined],
    [
      '2026-11-25T13:00:00Z',
      'tls.crt in Secret standin-system/stream-tls is about to expire, at 2027-01-01T00:00:00.000Z.',
    ],
    ['2027-01-01T00:00:01Z', 'tls.crt in Secret standin-system/stream-tls expired at 2027-01-01T00:00:00.000Z.'],
  ])('at %s', async (now, message = 'The certificates of the config stream are valid.') => {
    const status = message.startsWith('The') ? 'Passed' : 'Failed';
    expect(await check(now)).toMatchObject([{ check: 'Certificates', status, message }]);
  });

  it('that cannot be read are reported, and keys are not read', async () => {
    expect(await check('2026-06-01T00:00:00Z', { 'ca.crt': 'bm90', 'tls.crt': PEM, 'tls.key': 'bm90' })).toMatchObject([
      { status: 'Failed', message: 'ca.crt in Secret standin-system/stream-tls is not a certificate.' },
    ]);
  });

  it('of a missing Secret are not called valid', async () => {
    expect(await checkCertificates(reading({}), mounting('stream-tls'), new Date('2026-06-01'))).toEqual([]);
  });

  it('of the operator itself have another remedy than those of cert-manager', async () => {
    const remedy = async (env: Readonly<Record<string, string>>) => {
      const client = reading({ 'secrets/stream-tls': { data: { 'tls.crt': PEM } } });
      return (await checkCertificates(client, mounting('stream-tls', env), new Date('2028-01-01')))[0]?.remedy;
    };
    expect(await remedy({ STANDIN_STREAM_CERTIFICATE_SECRET: 'stream-tls' })).toContain(
      'kubectl delete secret stream-tls',
    );
    expect(await remedy({})).toContain('kubectl describe certificate');
  });
});

describe('the Certificates of cert-manager', () => {
  const issue = (certificates: readonly object[], env: Readonly<Record<string, string>> = {}) =>
    checkIssuance(reading({ certificates: { metadata: {}, items: certificates } }), mounting('stream-tls', env));
  const certificate = (secretName: string, ...conditions: readonly object[]) => ({
    metadata: { name: 'stream' },
    spec: { secretName },
    status: { conditions },
  });

  it('are not needed if the operator issues the certificates', async () => {
    expect(await issue([], { STANDIN_STREAM_CERTIFICATE_SECRET: 'stream-tls' })).toEqual([]);
  });

  it.each([
    ['ready', [certificate('stream-tls', { type: 'Ready', status: 'True' })], undefined],
    ['missing', [certificate('other', { type: 'Ready', status: 'True' })], 'No Certificate of cert-manager exists'],
    [
      'not ready',
      [certificate('stream-tls', { type: 'Ready', status: 'False', message: 'no issuer' })],
      'is not ready: no issuer.',
    ],
    ['not processed', [certificate('stream-tls')], 'is not ready: cert-manager has not processed it.'],
  ])('are %s', async (_, certificates, message) => {
    const findings = await issue(certificates);
    expect(findings.map(({ status }) => status)).toEqual(message === undefined ? [] : ['Failed']);
    expect(findings[0]?.message ?? '').toContain(message ?? '');
  });
});
