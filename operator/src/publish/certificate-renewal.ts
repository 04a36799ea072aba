import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { planCertificates, serverCertificate, type Certificates, type ServerCertificate } from './certificates.ts';

/**
 * Stores the certificates. If several operators share the store, writes are compare-and-swap, so that only one of them creates the
 * certificates.
 */
export interface CertificateStore {
  read(): Promise<{ readonly certificates: Certificates; readonly version: string } | undefined>;
  /**
   * Resolves with false if another operator changed the certificates after `version` was read or, if `version` is undefined, created
   * them first.
   */
  write(certificates: Certificates, version: string | undefined): Promise<boolean>;
}

/** The operator's server certificate and the CA that it trusts, from its own certificates or from externally managed files. */
export interface CertificateSource {
  /** Creates or renews the certificates first, if the operator manages them. Rejects while they are unavailable or unusable. */
  read(): Promise<ServerCertificate>;
  /** Interval between reads, in milliseconds. */
  readonly checkMs: number;
}

/** This interval is short compared with the weeks between the renewal of a certificate and its expiry. */
const OWN_CHECK_MS = 60_000;
const RETRY_MS = { min: 1_000, max: 15_000 };

/** Reads the certificates. Creates or renews them if necessary. */
export const ensureCertificates = async (store: CertificateStore, now: Date): Promise<Certificates> => {
  for (;;) {
    const current = await store.read();
    const planned = await planCertificates(current?.certificates, now);
    if (planned === current?.certificates || (await store.write(planned, current?.version))) return planned;
  }
};

/** Provides the certificates that the operator issues itself and stores in a Secret or a file. */
export const ownCertificates = (store: CertificateStore): CertificateSource => ({
  read: async () => serverCertificate(await ensureCertificates(store, new Date())),
  checkMs: OWN_CHECK_MS,
});

/** Waits for the first certificate, and retries until it is available. Rejects when `signal` aborts. */
export const awaitCertificate = async (
  source: CertificateSource,
  logger: Logger,
  signal: AbortSignal,
): Promise<ServerCertificate> => {
  for (let retryMs = RETRY_MS.min; ; retryMs = Math.min(2 * retryMs, RETRY_MS.max)) {
    try {
      return await source.read();
    } catch (error) {
      logger.error({ err: error, retryMs }, 'cannot read or create the config stream certificates, retrying');
      await delay(retryMs, undefined, { signal });
    }
  }
};

export interface RenewalOptions {
  readonly logger: Logger;
  /** Stops the checks when it aborts. */
  readonly signal: AbortSignal;
}

/**
 * Checks regularly whether the certificate changed or needs renewal, and passes a changed one to `onChange`. After an error, or if
 * the certificate is unusable, tries again at the next check.
 */
export const renewCertificate = async (
  source: CertificateSource,
  first: ServerCertificate,
  onChange: (certificate: ServerCertificate) => void,
  { logger, signal }: RenewalOptions,
): Promise<void> => {
  let held = JSON.stringify(first);
  for (;;) {
    await delay(source.checkMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const certificate = await source.read();
      const text = JSON.stringify(certificate);
      if (text === held) continue;
      onChange(certificate);
      held = text;
      logger.info('config stream certificates changed');
    } catch (error) {
      logger.error({ err: error }, 'cannot renew the config stream certificates, retrying');
    }
  }
};
