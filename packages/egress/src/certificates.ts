import { X509Certificate } from 'node:crypto';

const BEGIN = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g;
const WHOLE = /-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END \1?CERTIFICATE-----/g;

/**
 * Returns whether `text` contains PEM certificates, all of which can be read. TLS itself ignores text that contains none, and the rest
 * of a text after one that is cut.
 */
export const isCertificates = (text: string): boolean => {
  const certificates = text.match(WHOLE) ?? [];
  if (certificates.length === 0 || certificates.length !== text.match(BEGIN)?.length) return false;
  return certificates.every((pem) => {
    try {
      return new X509Certificate(pem).raw.length > 0;
    } catch {
      return false;
    }
  });
};
