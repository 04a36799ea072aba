import { X509Certificate } from 'node:crypto';

const BEGIN = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g;
const WHOLE = /-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END \1?CERTIFICATE-----/g;

/**
 * Returns the PEM certificates in a text, without the text between them, or undefined if there is none, or one that cannot be read. TLS
 * itself ignores text that contains none, and the rest of a text after one that is cut.
 */
export const findCertificates = (text: string): readonly string[] | undefined => {
  const certificates = text.match(WHOLE) ?? [];
  if (certificates.length === 0 || certificates.length !== text.match(BEGIN)?.length) return undefined;
  return certificates.every(canBeRead) ? certificates : undefined;
};

const canBeRead = (pem: string): boolean => {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
};
