import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { planCertificates, type Certificates } from './certificates.ts';

/** Where the certificates live. Writes are compare-and-swap: of two operators that start at once, one makes them. */
export interface CertificateStore {
  read(): Promise<{ readonly certificates: Certificates; readonly version: string } | undefined>;
  /** Resolves false when somebody else wrote since `version` was read (or created it, when undefined). */
  write(certificates: Certificates, version: string | undefined): Promise<boolean>;
}

const CHECK_MS = 60_000;
const RETRY_MS = 1_000;

/** Reads, makes or renews the certificates once. */
export const ensureCertificates = async (store: CertificateStore, now: Date): Promise<Certificates> => {
  const current = await store.read();
  const planned = await planCertificates(current?.certificates, now);
  if (planned === current?.certificates) return planned;
  if (await store.write(planned, current?.version)) return planned;
  return ensureCertificates(store, now);
};

/** Like `ensureCertificates`, as often as it takes. */
export const awaitCertificates = async (
  store: CertificateStore,
  logger: Logger,
  signal: AbortSignal,
): Promise<Certificates> => {
  for (;;) {
    try {
      return await ensureCertificates(store, new Date());
    } catch (error) {
      logger.error({ err: error }, 'cannot read or make the certificates of the config stream, trying again');
      await delay(RETRY_MS, undefined, { signal });
    }
  }
};

/** Looks every minute whether the certificates changed or need renewal, and hands changed ones to `onChange`. Rejects when aborted. */
export const keepCertificates = async (
  store: CertificateStore,
  first: Certificates,
  onChange: (certificates: Certificates) => void,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<void> => {
  let held = JSON.stringify(first);
  for (;;) {
    await delay(CHECK_MS, undefined, { signal, ref: false });
    const certificates = await awaitCertificates(store, logger, signal);
    const text = JSON.stringify(certificates);
    if (text === held) continue;
    held = text;
    logger.info('the certificates of the config stream changed');
    onChange(certificates);
  }
};
