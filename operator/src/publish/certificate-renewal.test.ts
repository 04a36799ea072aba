import { pino } from 'pino';
import { beforeEach, expect, test, vi } from 'vitest';
import {
  awaitCertificate,
  ensureCertificates,
  renewCertificate,
  ownCertificates,
  type CertificateStore,
} from './certificate-renewal.ts';
import { planCertificates, serverCertificate, type Certificates, type ServerCertificate } from './certificates.ts';

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;

/** A store whose compare-and-swap uses a number, like a Secret's resourceVersion. */
class MemoryStore implements CertificateStore {
  held: Certificates | undefined;
  version = 0;
  reads = 0;
  /** The number of reads that fail. */
  failures = 0;

  read() {
    this.reads += 1;
    if (this.failures > 0) {
      this.failures -= 1;
      return Promise.reject(new Error('unavailable'));
    }
    return Promise.resolve(this.held && { certificates: this.held, version: String(this.version) });
  }

  write(certificates: Certificates, version: string | undefined) {
    if (version !== (this.held && String(this.version))) return Promise.resolve(false);
    this.held = certificates;
    this.version += 1;
    return Promise.resolve(true);
  }
}

let store: MemoryStore;
beforeEach(() => {
  store = new MemoryStore();
});

test('when operators start at the same time, one of them creates the certificates and all use them', async () => {
  const all = await Promise.all(Array.from({ length: 3 }, () => ensureCertificates(store, new Date())));
  expect(store.version).toBe(1);
  expect(all).toEqual([store.held, store.held, store.held]);
});

test('when operators renew the certificates at the same time, only one succeeds, and nothing is renewed too early', async () => {
  const now = new Date();
  const first = await ensureCertificates(store, now);
  expect(await ensureCertificates(store, now)).toBe(first);
  const later = new Date(now.getTime() + 61 * 24 * 3_600_000);
  const [a, b] = await Promise.all([ensureCertificates(store, later), ensureCertificates(store, later)]);
  expect([a, store.version]).toEqual([b, 2]);
  expect(a).not.toEqual(first);
});

test('reading an unavailable store is retried until it responds', async () => {
  store.failures = 1;
  const certificate = await awaitCertificate(ownCertificates(store), logger, never);
  expect(certificate).toEqual(store.held && serverCertificate(store.held));
});

test('waiting ends when the operator stops', async () => {
  store.failures = Number.POSITIVE_INFINITY;
  const stopping = new AbortController();
  const waiting = awaitCertificate(ownCertificates(store), logger, stopping.signal);
  await vi.waitFor(() => expect(store.reads).toBe(1));
  stopping.abort();
  await expect(waiting).rejects.toThrow('aborted');
});

test('changed certificates are passed on once despite failures, and unusable certificates are retried', async () => {
  const source = { ...ownCertificates(store), checkMs: 5 };
  const first = await source.read();
  const stopping = new AbortController();
  const used: ServerCertificate[] = [];
  let refusals = 1;
  const use = (certificate: ServerCertificate): void => {
    refusals -= 1;
    if (refusals >= 0) throw new Error('key and certificate do not match');
    used.push(certificate);
  };
  const renewing = renewCertificate(source, first, use, { logger, signal: stopping.signal });
  await vi.waitFor(() => expect(store.reads).toBeGreaterThan(3));
  expect(used).toEqual([]);
  store.failures = 2;
  store.held = await planCertificates(undefined, new Date());
  await vi.waitFor(() => expect(used).toEqual([store.held && serverCertificate(store.held)]));
  const { reads } = store;
  await vi.waitFor(() => expect(store.reads).toBeGreaterThan(reads + 2));
  expect(used).toHaveLength(1);
  stopping.abort();
  await renewing;
});
