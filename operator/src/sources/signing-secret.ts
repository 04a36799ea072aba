import { createHmac, randomBytes } from 'node:crypto';
import { SIGNING_SECRET_LABEL, type SigningSecret } from '@standin/contract';
import type { ManifestSecret } from './manifest-objects.ts';

/** Returns the Secret without its data if it does not have the label. */
export const signingSecret = (
  { labels, data }: Pick<ManifestSecret, 'labels' | 'data'>,
  version: string,
): SigningSecret => {
  const isLabelled = labels?.[SIGNING_SECRET_LABEL] === 'true';
  return { isLabelled, version, data: isLabelled ? data : new Map() };
};

/** The key of the process, so that a version in a status does not help to guess the data. */
const VERSION_KEY = randomBytes(32);

/** Returns a Secret from a file, with a version that is the same as long as the data is the same and the process runs. */
export const manifestSigningSecret = (manifest: ManifestSecret): SigningSecret => {
  const data = [...manifest.data].map(([key, value]) => [key, value.toString('base64')]);
  const version = createHmac('sha256', VERSION_KEY).update(JSON.stringify(data)).digest('hex').slice(0, 16);
  return signingSecret(manifest, version);
};
