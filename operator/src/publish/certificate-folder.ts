import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import type { CertificateSource } from './certificate-keeper.ts';

/** A kubelet takes a minute or two to bring a changed Secret into a pod. */
const CHECK_MS = 5_000;

/**
 * Certificates that somebody else makes and renews, such as cert-manager: `ca.crt`, `tls.crt` and `tls.key` in a folder, as a mounted
 * Secret has them. While they are replaced a certificate may stand beside another one's key: then `read` rejects.
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
  // cert-manager leaves ca.crt empty where its issuer does not say who signs, and then nobody could be told from anybody.
  if (text.trim() === '')
    throw new Error(`${path.join(dir, name)} is empty: the config stream needs an issuer with a CA`);
  return text;
};
