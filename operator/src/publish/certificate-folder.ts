import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import type { CertificateSource } from './certificate-renewal.ts';

/** A kubelet takes a minute or two to update a changed Secret in a pod. */
const CHECK_MS = 5_000;

/**
 * Certificates that another component, such as cert-manager, issues and renews: `ca.crt`, `tls.crt` and `tls.key` in a folder, as
 * in a mounted Secret. During a replacement, a certificate and a key may not match: then `read` rejects.
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
  // cert-manager leaves ca.crt empty if its issuer does not provide a CA. Peers could not be verified then.
  if (text.trim() === '')
    throw new Error(`${path.join(dir, name)} is empty: the config stream needs an issuer with a CA`);
  return text;
};
