import { LIMITS, type UpstreamFailureCode } from '@standin/contract';
import { errors } from 'undici';

/**
 * The reason why an upstream sent no response or an incomplete one. `message` is a sentence for callers and tenants. It does not
 * contain addresses that they did not specify.
 */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly code: UpstreamFailureCode;
  /** The reason with addresses, only for the log of this process. Empty if `message` is complete. */
  readonly detail: string;

  constructor(
    code: UpstreamFailureCode,
    message: string,
    { detail = '', ...options }: ErrorOptions & { readonly detail?: string } = {},
  ) {
    super(message, options);
    this.code = code;
    this.detail = detail;
  }
}

export const tooManyLines = (): EgressError =>
  new EgressError(
    'upstream_invalid',
    `The upstream's response has more than ${LIMITS.upstreamHeadLinesMax} header or trailer lines.`,
  );

const errorCode = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');

/** What OpenSSL adds to its errors, in addition to a message with addresses in memory and lines of its source code. */
const isOfOpenSsl = (error: Error): error is Error & { readonly reason: string } =>
  'library' in error && 'reason' in error && typeof error.reason === 'string';

/** Returns why a connection or a response failed, without what only the developers of Node and OpenSSL need. */
const plainReason = (error: Error): string =>
  isOfOpenSsl(error) ? error.reason : error.message.replace(/[;\n].*/s, '').replace(/\.$/, '');

/** The codes with which Node refuses a certificate are the names of OpenSSL's X509_V_ERR_ constants, without that prefix. */
const CERTIFICATE_CODE = /CERT|ISSUER|_CA$|CRL|SELF_SIGNED|LEAF_SIGNATURE/;

/** Returns the error for a failed connection. `where` is the requested origin. */
export const connectError = (error: unknown, where: string): EgressError => {
  if (error instanceof EgressError) return error;
  const cause = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const reason = cause instanceof Error ? cause : new Error(String(cause));
  const code = errorCode(reason);
  // The message of a system error contains addresses: `connect ECONNREFUSED 10.0.0.7:80 - Local (10.0.0.2:41234)`.
  const options = { cause: error, detail: 'address' in reason ? reason.message : '' };
  const say = (message: string) => new EgressError('upstream_unreachable', message, options);
  if (code === 'ENOTFOUND' || code === 'ENODATA') return say(`The host name in ${where} does not exist.`);
  if (code === 'EAI_AGAIN') return say(`The host name in ${where} could not be looked up.`);
  if (code === 'ECONNREFUSED') return say(`${where} refused the connection.`);
  if (code === 'ETIMEDOUT')
    return new EgressError('upstream_timeout', `${where} did not accept a connection in time.`, options);
  // The message contains all names and addresses of the certificate.
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return new EgressError('upstream_unreachable', `The certificate of ${where} is for another host name.`, {
      cause: error,
      detail: reason.message,
    });
  if (CERTIFICATE_CODE.test(code) && !isOfOpenSsl(reason))
    return say(`The certificate of ${where} is not trusted: ${plainReason(reason)}.`);
  return say(`Could not connect to ${where}: ${'address' in reason ? code : plainReason(reason)}.`);
};

const BROKE_OFF = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_INFO',
  'ERR_SSL_UNEXPECTED_EOF_WHILE_READING',
]);

/** Returns whether the error is a lost connection rather than invalid bytes. */
export const brokeOff = (error: Error): boolean => BROKE_OFF.has(errorCode(error)) && !/^bad /.test(error.message);

/**
 * Converts an error from undici or a socket. `inBody` means that the head of the response has arrived. For a connection that could
 * not be established, see `connectError`.
 */
export const exchangeError = (error: unknown, inBody: boolean): EgressError => {
  if (error instanceof EgressError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  const fail = (code: UpstreamFailureCode, message: string) => new EgressError(code, message, { cause });
  if (cause instanceof errors.BodyTimeoutError) {
    return fail('upstream_timeout', 'The upstream stopped sending in the middle of its response.');
  }
  if (cause instanceof errors.HeadersOverflowError) {
    return fail('upstream_invalid', "The headers of the upstream's response are too large.");
  }
  if (inBody && (cause instanceof errors.ResponseContentLengthMismatchError || brokeOff(cause))) {
    return fail('upstream_invalid', 'The upstream closed the connection in the middle of its response.');
  }
  if (cause instanceof errors.MaxOriginsReachedError) {
    return fail('upstream_unreachable', 'Too many different upstreams are in use at the same time. Try again later.');
  }
  if (cause instanceof errors.InvalidArgumentError || cause instanceof errors.NotSupportedError) {
    return fail('upstream_unreachable', `The request cannot be forwarded: ${cause.message}.`);
  }
  if (brokeOff(cause)) {
    return fail('upstream_unreachable', 'The upstream closed the connection before it responded.');
  }
  if (cause.message === 'bad upgrade') {
    return fail('upstream_invalid', 'The upstream switched protocols (101), although the request did not ask for it.');
  }
  return fail('upstream_invalid', `The upstream's response is not valid HTTP/1.1: ${plainReason(cause)}.`);
};
