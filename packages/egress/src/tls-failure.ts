import type { UpstreamTls } from './authority.ts';

/** What OpenSSL adds to its errors, in addition to a message with addresses in memory and lines of its source code. */
type OpenSslError = Error & { readonly library: unknown; readonly reason: string; readonly code?: unknown };

export const isOpenSslError = (error: Error): error is OpenSslError =>
  'library' in error && 'reason' in error && typeof error.reason === 'string';

type Sentence = (upstream: string, tls: UpstreamTls) => string;

const unknownAuthority: Sentence = (upstream, { authority }) =>
  authority === undefined
    ? `The certificate of ${upstream} is signed by an authority that is not trusted: set forward.tls.caRef to the certificate of the authority, or let the upstream send the certificates in between.`
    : `The certificate of ${upstream} is not signed by an authority in forward.tls.caRef: add the certificate of its authority to the ConfigMap, or let the upstream send the certificates in between.`;

const selfSigned: Sentence = (upstream, { authority }) =>
  authority === undefined
    ? `The certificate of ${upstream} is self-signed: set forward.tls.caRef to this certificate.`
    : `The certificate of ${upstream} is self-signed, and not one of those in forward.tls.caRef: add it to the ConfigMap.`;

const otherName: Sentence = (upstream, { serverName }) =>
  serverName === undefined
    ? `The certificate of ${upstream} is for another host name: set forward.tls.serverName to a name in the certificate.`
    : `The certificate of ${upstream} is not for the name ${serverName}: set forward.tls.serverName to a name in the certificate.`;

const tooWeak: Sentence = (upstream) =>
  `The certificate of ${upstream}, or of an authority that signed it, has a key or a signature that is too weak: issue another one.`;

/**
 * The codes with which Node refuses a certificate, which are the names of OpenSSL's X509_V_ERR_ constants without that prefix, and a code
 * of its own.
 */
const CERTIFICATE_PROBLEMS: Readonly<Record<string, Sentence>> = {
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  CERT_UNTRUSTED: unknownAuthority,
  // An authority has the name of another one.
  CERT_SIGNATURE_FAILURE: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  ERR_TLS_CERT_ALTNAME_INVALID: otherName,
  HOSTNAME_MISMATCH: otherName,
  CERT_HAS_EXPIRED: (upstream) =>
    `The certificate of ${upstream}, or of an authority that signed it, has expired: renew it.`,
  CERT_NOT_YET_VALID: (upstream) =>
    `The certificate of ${upstream}, or of an authority that signed it, is not valid yet: check the clocks.`,
  CERT_REVOKED: (upstream) => `The certificate of ${upstream} is revoked: issue another one.`,
  INVALID_PURPOSE: (upstream) =>
    `The certificate of ${upstream} is not for servers: issue one with the extended key usage serverAuth.`,
};

/** Parts of the other codes with which Node refuses a certificate. */
const CERTIFICATE_CODE = /CERT|ISSUER|_CA$|CRL|CHAIN|PATH_LENGTH/;

const clientCertificate: Sentence = (upstream) =>
  `${capitalized(upstream)} requires a client certificate, which Standin does not have: make it optional, or forward to a proxy that sends one.`;

const oldVersion: Sentence = (upstream) =>
  `${capitalized(upstream)} does not support TLS 1.2 or 1.3: enable one of them.`;

/** Parts of OpenSSL's reasons, of which the first that matches counts. An alert is what the upstream itself has reported. */
const HANDSHAKE_PROBLEMS: readonly (readonly [RegExp, Sentence])[] = [
  [
    /alert no application protocol/,
    (upstream) =>
      `${capitalized(upstream)} does not accept HTTP/1.1, probably because it requires HTTP/2, which Standin does not support: enable HTTP/1.1.`,
  ],
  [/protocol version|unsupported protocol|version too low/, oldVersion],
  [
    /wrong version number|http request|packet length too long|record layer failure/,
    (upstream) =>
      `${capitalized(upstream)} does not use TLS on this port: set http in place of https, or another port.`,
  ],
  [
    /alert (certificate|bad certificate|no certificate|unsupported certificate|unknown ca|access denied)/,
    clientCertificate,
  ],
  [
    /alert handshake failure/,
    (upstream) =>
      `${capitalized(upstream)} refused the TLS handshake: it requires a client certificate, which Standin does not have, or none of its ciphers is supported.`,
  ],
  // Some upstreams report a name without a certificate as an error of their own.
  [
    /unrecognized name|alert internal error/,
    (upstream, { serverName }) =>
      `${capitalized(upstream)} refused the TLS handshake, probably because it has no certificate for the name ${serverName ?? 'in its URL'}: set forward.tls.serverName to a name that it has one for.`,
  ],
  [/too small|too weak/, tooWeak],
  [
    /unexpected eof/,
    (upstream) =>
      `${capitalized(upstream)} closed the connection during the TLS handshake: check that this port uses TLS.`,
  ],
];

const capitalized = (text: string): string => text.replace(/^the /, 'The ');

/**
 * Returns a sentence about a TLS error without the words of OpenSSL and Node, or undefined for any other error.
 *
 * @param upstream the upstream in the middle of a sentence
 */
export const tlsFailure = (error: Error, upstream: string, tls: UpstreamTls = {}): string | undefined => {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (isOpenSslError(error)) {
    const [, sentence] = HANDSHAKE_PROBLEMS.find(([reason]) => reason.test(error.reason)) ?? [];
    return (
      sentence?.(upstream, tls) ??
      `The TLS connection to ${upstream} failed: check the TLS versions, the ciphers and the certificate of the upstream.`
    );
  }
  const sentence = new Map(Object.entries(CERTIFICATE_PROBLEMS)).get(code);
  if (sentence !== undefined) return sentence(upstream, tls);
  return CERTIFICATE_CODE.test(code)
    ? `The certificate of ${upstream} cannot be verified: check how it and its authority were issued.`
    : undefined;
};
