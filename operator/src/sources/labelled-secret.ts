import { createHmac, randomBytes } from 'node:crypto';
import { SECRET_LABELS, UPSTREAM_ORIGINS_ANNOTATION, type LabelledSecret, type SecretUse } from '@standin/contract';
import type { ManifestSecret } from './manifest-objects.ts';

const USES = Object.keys(SECRET_LABELS) as readonly SecretUse[];

type Labelled = Pick<ManifestSecret, 'labels' | 'annotations' | 'data'>;

/** Returns the Secret without its data if it does not have a label that allows a use. */
export const labelledSecret = ({ labels, annotations, data }: Labelled, version: string): LabelledSecret => {
  const uses = USES.filter((use) => labels?.[SECRET_LABELS[use]] === 'true');
  const upstreamOrigins = annotations?.[UPSTREAM_ORIGINS_ANNOTATION] ?? '';
  return { uses, upstreamOrigins, version, data: uses.length > 0 ? data : new Map() };
};

/** The key of the process, so that a version in a status does not help to guess the data. */
const VERSION_KEY = randomBytes(32);

/** Returns a Secret from a file, with a version that is the same as long as the Secret is the same and the process runs. */
export const labelledManifest = (manifest: ManifestSecret): LabelledSecret => {
  const data = [...manifest.data].map(([key, value]) => [key, value.toString('base64')]);
  const { uses, upstreamOrigins } = labelledSecret(manifest, '');
  const version = createHmac('sha256', VERSION_KEY)
    .update(JSON.stringify([data, uses, upstreamOrigins]))
    .digest('hex')
    .slice(0, 16);
  return labelledSecret(manifest, version);
};
