import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { planCertificates, serverCertificate, type Certificates, type ServerCertificate } from './certificates.ts';

/** Where the certificates live. Writes are compare-and-swap: of two operators that start at once, one makes them. */
export interface CertificateStore {
  read(): Promise<{ readonly certificates: Certificates; readonly version: string } | undefined>;
  /** Resolves false when somebody else wrote since `version` was read (or created it, when undefined). */
  write(certificates: Certificates, version: string | undefined): Promise<boolean>;
}

/** What the operator shows to gateways, and whom it believes: certificates of its own making, or somebody else's files. */
export interface CertificateSource {
  /** Makes or renews them first where they are ours to make. Rejects while they cannot be had, or cannot be used. */
  read(): Promise<ServerCertificate>;
  /** How often it is asked again, in milliseconds. */
  readonly checkMs: number;
}

/** Certificates are renewed weeks before they end. */
const OWN_CHECK_MS = 60_000;
const RETRY_MS = { min: 1_000, max: 15_000 };

/** Reads, makes or renews the certificates once. */
export const ensureCertificates = async (store: CertificateStore, now: Date): Promise<Certificates> => {
  for (;;) {
    const current = await store.read();
    const planned = await planCertificates(current?.certificates, now);
    if (planned === current?.certificates || (await store.write(planned, current?.version))) return planned;
  }
};

/** Certificates that the operator makes itself, and keeps in a Secret or a file. */
export const ownCertificates = (store: CertificateStore): CertificateSource => ({
  read: async () => serverCertificate(await ensureCertificates(store, new Date())),
  checkMs: OWN_CHECK_MS,
});

/** The first certificate, however often it has to be asked for. Rejects when `signal` aborts. */
export const awaitCertificate = async (
  source: CertificateSource,
  logger: Logger,
  signal: AbortSignal,
): Promise<ServerCertificate> => {
  for (let retryMs = RETRY_MS.min; ; retryMs = Math.min(2 * retryMs, RETRY_MS.max)) {
    try {
      return await source.read();
    } catch (error) {
      logger.error({ err: error, retryMs }, 'cannot read or make the certificates of the config stream, trying again');
      await delay(retryMs, undefined, { signal });
    }
  }
};

export interface KeepOptions {
  readonly logger: Logger;
  /** Stops looking. */
  readonly signal: AbortSignal;
}

/**
 * Looks again and again whether the certificate changed or needs renewal, and hands a changed one to `onChange`. What fails, or
 * cannot be used, is tried again the next time.
 */
export const keepCertificate = async (
  source: CertificateSource,
  first: ServerCertificate,
  onChange: (certificate: ServerCertificate) => void,
  { logger, signal }: KeepOptions,
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
      logger.info('the certificates of the config stream changed');
    } catch (error) {
      logger.error({ err: error }, 'cannot renew the certificates of the config stream, trying again');
    }
  }
};
