import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import { replaceFile } from '@standin/process/replace-file';
import type { CertificateSource, CertificateStore } from './certificate-renewal.ts';
import { certificatesSchema, type Certificates } from './certificates.ts';

/** This interval is short compared with the minute or two that a kubelet takes to update a changed Secret in a pod. */
const CHECK_MS = 5_000;

/**
 * Provides the certificates that another component, such as cert-manager, issues and renews. They are the files `ca.crt`,
 * `tls.crt` and `tls.key` in a folder, as in a mounted Secret. While the files are being replaced, the certificate may not match
 * the key, and `read` rejects.
 */
export const certificateFolder = (dir: string): CertificateSource => ({
  checkMs: CHECK_MS,
  read: async () => {
    const [ca, cert, key] = await Promise.all([
      readText(dir, 'ca.crt'),
      readText(dir, 'tls.crt'),
      readText(dir, 'tls.key'),
    ]);
    try {
      createSecureContext({ ca, cert, key });
    } catch (error) {
      throw new Error(`ca.crt, tls.crt and tls.key in ${dir} cannot be used together`, { cause: error });
    }
    return { ca, cert, key };
  },
});

const readText = async (dir: string, name: string): Promise<string> => {
  const text = await readFile(path.join(dir, name), 'utf8');
  // cert-manager leaves ca.crt empty if its issuer does not provide a CA. Without a CA, peers cannot be verified.
  if (text.trim() === '')
    throw new Error(`${path.join(dir, name)} is empty: the config stream needs an issuer with a CA`);
  return text;
};

const SECRET = { mode: 0o600 };

/**
 * Stores the certificates in a directory, for an operator without a cluster. The certificates are in `stream.json`, and the
 * gateway's part is in `gateway/`, in the form of the files of a mounted Secret (`ca.crt`, `tls.crt`, `tls.key`).
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
    // The file is damaged, for example because the disk was full. In that case, the file is created again.
    return undefined;
  }
};
