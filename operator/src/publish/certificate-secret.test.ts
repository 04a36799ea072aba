import { ApiError, type KubeClient } from '@standin/kube';
import { expect, test } from 'vitest';
import { certificateSecret } from './certificate-secret.ts';
import { planCertificates } from './certificates.ts';

const failure = (status: number, reason: string) => (): Promise<never> =>
  Promise.reject(new ApiError(reason, { status, reason, request: '' }));

/** Writes certificates to an API server that gives this response to each write. */
const writing = async (respond: () => Promise<unknown>, version: string | undefined): Promise<boolean> => {
  const client = { create: respond, replace: respond } as Partial<KubeClient> as KubeClient;
  const certificates = await planCertificates(undefined, new Date());
  return certificateSecret(client, 'standin-system', 'stream').write(certificates, version);
};

test.each([
  ['another operator created them first', 409, undefined],
  ['another operator changed them', 409, 'uid/1'],
  ['the Secret was deleted', 404, 'uid/1'],
])('certificates are read again if %s', async (_, status, version) => {
  expect(await writing(failure(status, ''), version)).toBe(false);
});

// The caller reads and writes again without a delay after false.
test('a missing namespace is an error', async () => {
  await expect(writing(failure(404, 'NotFound'), undefined)).rejects.toThrow('NotFound');
});

test('certificates that are written are in use', async () => {
  expect(await writing(() => Promise.resolve({}), undefined)).toBe(true);
});
