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
const RETRY_MS = { min: 1_000, max: 15_000 };

/** Reads, makes or renews the certificates once. */
export const ensureCertificates = async (store: CertificateStore, now: Date): Promise<Certificates> => {
  for (;;) {
    const current = await store.read();
    const planned = await planCertificates(current?.certificates, now);
    if (planned === current?.certificates || (await store.write(planned, current?.version))) return planned;
  }
};

/** Like `ensureCertificates`, as often as it takes. Rejects when `signal` aborts. */
export const awaitCertificates = async (
  store: CertificateStore,
  logger: Logger,
  signal: AbortSignal,
): Promise<Certificates> => {
  for (let retryMs = RETRY_MS.min; ; retryMs = Math.min(2 * retryMs, RETRY_MS.max)) {
    try {
      return await ensureCertificates(store, new Date());
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
  readonly checkMs?: number;
}

/**
 * Looks every minute whether the certificates changed or need renewal, and hands changed ones to `onChange`. What fails, or cannot
 * be used, is tried again a minute later: certificates are renewed weeks before they end.
 */
export const keepCertificates = async (
  store: CertificateStore,
  first: Certificates,
  onChange: (certificates: Certificates) => void,
  { logger, signal, checkMs = CHECK_MS }: KeepOptions,
): Promise<void> => {
  let held = JSON.stringify(first);
  for (;;) {
    await delay(checkMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const certificates = await ensureCertificates(store, new Date());
      const text = JSON.stringify(certificates);
      if (text === held) continue;
      onChange(certificates);
      held = text;
      logger.info('the certificates of the config stream changed');
    } catch (error) {
      logger.error({ err: error }, 'cannot renew the certificates of the config stream, trying again');
    }
  }
};
