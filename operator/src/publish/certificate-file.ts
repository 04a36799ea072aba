import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '@standin/process/replace-file';
import type { CertificateStore } from './certificate-renewal.ts';
import { certificatesSchema, type Certificates } from './certificates.ts';

const SECRET = { mode: 0o600 };

/**
 * The certificates in a directory, for an operator without a cluster: `stream.json`, and the gateway's part in `gateway/`, as the
 * files of a mounted Secret (`ca.crt`, `tls.crt`, `tls.key`).
 */
export const certificateFile = (dir: string): CertificateStore => {
  const file = path.join(dir, 'stream.json');
  return {
    read: async () => {
      const text = await readFile(file, 'utf8').catch(() => undefined);
      if (text === undefined) return undefined;
      const certificates = certificatesSchema.safeParse(parseJson(text));
      return certificates.success ? { certificates: certificates.data, version: '' } : undefined;
    },
    write: async (certificates: Certificates) => {
      const gatewayDir = path.join(dir, 'gateway');
      await replaceFile(path.join(gatewayDir, 'ca.crt'), certificates.caBundle, SECRET);
      await replaceFile(path.join(gatewayDir, 'tls.crt'), certificates.gateway.cert, SECRET);
      await replaceFile(path.join(gatewayDir, 'tls.key'), certificates.gateway.key, SECRET);
      await replaceFile(file, JSON.stringify(certificates), SECRET);
      return true;
    },
  };
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // The file is damaged, for example by a full disk, and is created again.
    return undefined;
  }
};
