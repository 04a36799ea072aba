import { LIMITS, type UpstreamFailureCode } from '@standin/contract';
import { errors } from 'undici';
import type { UpstreamTls } from './authority.ts';
import { isOpenSslError, tlsFailure } from './tls-failure.ts';

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

/** The reason why a request with a header from a Secret is not sent, if the Secret is no longer the one that was used for it. */
export const secretWithdrawn = (): EgressError =>
  new EgressError(
    'upstream_unreachable',
    'The request was not sent, because the Secret with a header for the upstream was changed at the same time. Try again.',
  );

const errorCode = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');

/** Returns why a connection or a response failed, without what only the developers of Node need. */
const plainReason = (error: Error): string => error.message.replace(/[;\n].*/s, '').replace(/\.$/, '');

/** Returns the error for a failed connection. `where` is the requested origin. */
export const connectError = (error: unknown, where: string, tls?: UpstreamTls): EgressError => {
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
  const untrusted = tlsFailure(reason, where, tls);
  // The message about another host name contains all names and addresses of the certificate.
  if (untrusted !== undefined)
    return new EgressError('upstream_unreachable', untrusted, { cause: error, detail: tlsDetail(reason) });
  // This is what Node reports if the connection ends before the end of the handshake.
  if (code === 'ECONNRESET' && where.startsWith('https:') && !('address' in reason))
    return say(`${where} closed the connection during the TLS handshake: check that this port uses TLS.`);
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

/** The types of the HTTP/2 frames with which a server begins or ends a connection (RFC 9113 section 6). */
const [SETTINGS, GOAWAY] = [4, 7];
/** The type of a TLS record (RFC 8446 section 5.1), and the first byte of all its versions. */
const [ALERT, TLS] = [21, 3];

/** Returns a sentence about a response that begins as one of another protocol does. */
const otherProtocol = (data: string): string | undefined => {
  const [first, second, , type, , ...stream] = Array.from(data.slice(0, 9), (byte) => byte.charCodeAt(0));
  if (first === 0 && (type === SETTINGS || type === GOAWAY) && stream.every((byte) => byte === 0))
    return 'The upstream responded in HTTP/2, which Standin does not support: enable HTTP/1.1.';
  if (first === ALERT && second === TLS)
    return 'The upstream uses TLS on this port: set https in place of http, or another port.';
  return undefined;
};

/** The words of OpenSSL and Node about a TLS error, for the log of this process. */
const tlsDetail = (error: Error): string => (isOpenSslError(error) ? error.reason : error.message);

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
  // With TLS 1.3, an upstream refuses a client after the client has finished the handshake.
  const refused = tlsFailure(cause, 'the upstream');
  if (refused !== undefined && !inBody)
    return new EgressError('upstream_unreachable', refused, { cause, detail: tlsDetail(cause) });
  if (cause.message === 'bad upgrade') {
    return fail('upstream_invalid', 'The upstream switched protocols (101), although the request did not ask for it.');
  }
  // undici's types lack the received bytes.
  const protocol = 'data' in cause ? otherProtocol(String(cause.data)) : undefined;
  return fail(
    'upstream_invalid',
    protocol ?? refused ?? `The upstream's response is not valid HTTP/1.1: ${plainReason(cause)}.`,
  );
};
