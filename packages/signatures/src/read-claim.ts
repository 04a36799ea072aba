import { LIMITS, type HeaderPair, type SignatureConfig } from '@standin/contract';
import { decodeDigest, type DigestFormat } from './digest-text.ts';

/** What the headers of a request claim. Nothing in it is verified. */
export type Claim = HmacClaim | { readonly kind: 'token'; readonly token: string };

interface HmacClaim {
  readonly kind: 'hmac';
  readonly algorithm: DigestFormat['algorithm'];
  /** The text that is signed before the body. It is ASCII. */
  readonly signedPrefix: string;
  /** At least one. Senders send several while they rotate their secret. One correct digest is enough. */
  readonly digests: readonly Buffer[];
  /** Undefined if the scheme has no timestamp. */
  readonly timestampMs: number | undefined;
  /** Undefined if the scheme has no delivery id in a header, or if the id is repeated, too long or not printable ASCII. */
  readonly deliveryId: string | undefined;
}

/** Why the headers claim nothing: a header is missing or repeated, or a value is malformed. */
export type NoClaim = 'missing' | 'repeated' | 'malformed';

/** An HMAC of the body in one header. */
type BodyHmac = Omit<Extract<SignatureConfig, { scheme: 'HMAC' }>, 'scheme'>;

const SHA256_HEX = { algorithm: 'SHA256', encoding: 'Hex' } as const;
const SHA256_BASE64 = { algorithm: 'SHA256', encoding: 'Base64' } as const;
const GITHUB: BodyHmac = { header: 'x-hub-signature-256', ...SHA256_HEX, prefix: 'sha256=' };
const SHOPIFY: BodyHmac = { header: 'x-shopify-hmac-sha256', ...SHA256_BASE64, prefix: '' };

/** Decimal seconds without a sign, leading zeros or whitespace, for example `1614265330`. */
const TIMESTAMP = /^[1-9][0-9]{0,11}$/;
const PRINTABLE = /^[!-~]+$/;

const headerValues = (headers: readonly HeaderPair[], name: string): string[] =>
  headers.filter((header) => header[0].toLowerCase() === name).map(([, value]) => value);

/** Each header must occur once. Names are in lowercase. */
const onlyValues = (headers: readonly HeaderPair[], ...names: string[]): readonly string[] | NoClaim => {
  const values = names.map((name) => headerValues(headers, name));
  if (values.some((found) => found.length > 1)) return 'repeated';
  return values.some((found) => found.length === 0) ? 'missing' : values.flat();
};

const parseTimestampMs = (text: string): number | undefined =>
  TIMESTAMP.test(text) ? Number(text) * 1_000 : undefined;

const isDeliveryId = (text: string): boolean => text.length <= LIMITS.deliveryIdLengthMax && PRINTABLE.test(text);

const unsignedDeliveryId = (headers: readonly HeaderPair[], name: string): string | undefined => {
  const [id, second] = headerValues(headers, name);
  return id !== undefined && second === undefined && isDeliveryId(id) ? id : undefined;
};

const prefixedDigest = (value: string, hmac: Omit<BodyHmac, 'header'>): Buffer | undefined =>
  value.startsWith(hmac.prefix) ? decodeDigest(value.slice(hmac.prefix.length), hmac) : undefined;

/** Reads an HMAC of the body alone. */
const readBodyHmac = (headers: readonly HeaderPair[], hmac: BodyHmac, deliveryIdHeader?: string): Claim | NoClaim => {
  const values = onlyValues(headers, hmac.header);
  if (typeof values === 'string') return values;
  const digest = prefixedDigest(values[0] ?? '', hmac);
  if (digest === undefined) return 'malformed';
  const deliveryId = deliveryIdHeader === undefined ? undefined : unsignedDeliveryId(headers, deliveryIdHeader);
  const { algorithm } = hmac;
  return { kind: 'hmac', algorithm, signedPrefix: '', digests: [digest], timestampMs: undefined, deliveryId };
};

/**
 * Splits a list at a separator, and each element at the first `delimiter`. Returns undefined if the list has more than
 * `LIMITS.signatureElementsMax` elements. The second part of an element without a delimiter is empty.
 */
const splitElements = (
  text: string,
  separator: string,
  delimiter: string,
): readonly (readonly [version: string, value: string])[] | undefined => {
  const elements = text.split(separator, LIMITS.signatureElementsMax + 1);
  if (elements.length > LIMITS.signatureElementsMax) return undefined;
  return elements.map((element) => {
    const end = element.indexOf(delimiter);
    return end === -1 ? [element, ''] : [element.slice(0, end), element.slice(end + 1)];
  });
};

/** Decodes the values of all elements with this version. Returns undefined if there is none, or if one is not a SHA-256 digest. */
const decodeVersion = (
  elements: readonly (readonly [version: string, value: string])[],
  version: string,
  encoding: DigestFormat['encoding'],
): readonly Buffer[] | undefined => {
  const values = elements.filter(([found]) => found === version).map(([, value]) => value);
  const digests = values.map((value) => decodeDigest(value, { algorithm: 'SHA256', encoding }));
  const valid = digests.filter((digest) => digest !== undefined);
  return valid.length > 0 && valid.length === digests.length ? valid : undefined;
};

/** Returns a claim with a timestamp, or `malformed` if one of its parts is. */
const timedClaim = (
  timestamp: string,
  digests: readonly Buffer[] | undefined,
  signedPrefix: string,
  deliveryId?: string,
): Claim | NoClaim => {
  const timestampMs = parseTimestampMs(timestamp);
  if (timestampMs === undefined || digests === undefined) return 'malformed';
  return { kind: 'hmac', algorithm: 'SHA256', signedPrefix, digests, timestampMs, deliveryId };
};

/** Reads `t=1492774577,v1=HEX,v1=HEX`. Other elements are ignored, as Stripe's documentation requires. */
const readStripe = (headers: readonly HeaderPair[]): Claim | NoClaim => {
  const values = onlyValues(headers, 'stripe-signature');
  if (typeof values === 'string') return values;
  const elements = splitElements(values[0] ?? '', ',', '=');
  if (elements === undefined) return 'malformed';
  const [timestamp, second] = elements.filter(([name]) => name === 't').map(([, value]) => value);
  if (timestamp === undefined || second !== undefined) return 'malformed';
  return timedClaim(timestamp, decodeVersion(elements, 'v1', 'Hex'), `${timestamp}.`);
};

/** Reads `v0=HEX`, and the timestamp in a header of its own. */
const readSlack = (headers: readonly HeaderPair[]): Claim | NoClaim => {
  const values = onlyValues(headers, 'x-slack-signature', 'x-slack-request-timestamp');
  if (typeof values === 'string') return values;
  const [signature = '', timestamp = ''] = values;
  const digest = prefixedDigest(signature, { ...SHA256_HEX, prefix: 'v0=' });
  return timedClaim(timestamp, digest && [digest], `v0:${timestamp}:`);
};

/**
 * Reads `v1,BASE64 v1,BASE64`, and the id and the timestamp in headers of their own. Signatures of other versions are ignored. A full
 * stop separates the signed parts, so an id must not contain one.
 */
const readStandardWebhooks = (headers: readonly HeaderPair[]): Claim | NoClaim => {
  const family = headerValues(headers, 'webhook-signature').length > 0 ? 'webhook' : 'svix';
  const values = onlyValues(headers, `${family}-signature`, `${family}-timestamp`, `${family}-id`);
  if (typeof values === 'string') return values;
  const [signatures = '', timestamp = '', id = ''] = values;
  if (!isDeliveryId(id) || id.includes('.')) return 'malformed';
  const digests = decodeVersion(splitElements(signatures, ' ', ',') ?? [], 'v1', 'Base64');
  return timedClaim(timestamp, digests, `${id}.${timestamp}.`, id);
};

const readToken = (headers: readonly HeaderPair[], header: string): Claim | NoClaim => {
  const values = onlyValues(headers, header);
  if (typeof values === 'string') return values;
  const [token = ''] = values;
  return token === '' ? 'malformed' : { kind: 'token', token };
};

/** Reads the signature of a request from its headers. The work is bounded by the size of the headers. */
export const readClaim = (config: SignatureConfig, headers: readonly HeaderPair[]): Claim | NoClaim => {
  switch (config.scheme) {
    case 'GitHub':
      return readBodyHmac(headers, GITHUB, 'x-github-delivery');
    case 'Shopify':
      return readBodyHmac(headers, SHOPIFY, 'x-shopify-event-id');
    case 'HMAC':
      return readBodyHmac(headers, config);
    case 'Stripe':
      return readStripe(headers);
    case 'Slack':
      return readSlack(headers);
    case 'StandardWebhooks':
      return readStandardWebhooks(headers);
    case 'Token':
      return readToken(headers, config.header);
  }
};
