import { LIMITS } from '@standin/contract';
import { beforeAll, expect, test } from 'vitest';
import { planCertificates } from '../publish/certificates.ts';
import { caConfigMap } from './ca-config-map.ts';

let ca: { readonly cert: string; readonly key: string };
beforeAll(async () => {
  ({ ca } = await planCertificates(undefined, new Date()));
});

const read = (text: string) =>
  caConfigMap({ namespace: 'a', name: 'ca', data: { 'ca.crt': text }, binaryData: {} }).data?.['ca.crt'];

test('of a value, only the certificates are kept', () => {
  const cert = ca.cert.trim();
  expect(read(`subject: CN=a\r\n${cert}\n\n# another\n${cert}\n`)).toEqual({ certificates: `${cert}\n${cert}` });
  expect(read(cert.replaceAll('\n', '\r\n'))).toEqual({ certificates: cert.replaceAll('\n', '\r\n') });
});

test.each([
  ['nothing', () => ' \n', /^is empty: /],
  ['other text', () => 'ca.crt', /^is not a list of certificates in PEM/],
  ['a certificate that is cut', () => `${ca.cert}\n${ca.cert.slice(0, 200)}`, /^is not a list of certificates in PEM/],
  ['a private key', () => `${ca.cert}\n${ca.key}`, /^contains a private key: remove it/],
  ['an RSA key', () => '-----BEGIN RSA PRIVATE KEY-----\nx', /^contains a private key: remove it/],
  ['1,000 certificates', () => ca.cert.repeat(1_000), /^has \d+ bytes, more than the maximum of 262144: /],
])('a value with %s is refused without its content', (_name, text, message) => {
  const value = read(text());
  expect(value).toEqual({ problem: expect.stringMatching(message) as string });
  expect(JSON.stringify(value)).not.toContain(ca.key.slice(40, 60));
});

test('a value that is not text is refused', () => {
  const { data } = caConfigMap({ namespace: 'a', name: 'ca', data: {}, binaryData: { 'ca.crt': '//4=' } });
  expect(data).toEqual({ 'ca.crt': { problem: 'is not text: convert the certificates to PEM' } });
});

test('the largest value is read within a moment', () => {
  const text = ca.cert.repeat(Math.floor(LIMITS.upstreamCaBytesMax / ca.cert.length));
  const startedAt = performance.now();
  expect(read(text)).toHaveProperty('certificates');
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});
