import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

/**
 * Maximum number of addresses to read from `X-Forwarded-For`. Installations have fewer proxies in a row, but a caller may send any
 * number of addresses.
 */
const HOPS_MAX = 16;

type Family = 'ipv4' | 'ipv6';
const addressFamily = (address: string): Family => (isIP(address) === 4 ? 'ipv4' : 'ipv6');

/** Returns `192.0.2.1` for `::ffff:192.0.2.1`, which dual-stack sockets report. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

const GROUPS = 8;
/** The first four of eight groups are 64 bits. */
const NETWORK_GROUPS = 4;

/** Returns the address, or for IPv6 its /64 network, because providers assign a whole /64 to one household. */
export const clientNetwork = (address: string): string => {
  const plain = plainAddress(address).replace(/%.*$/, '');
  if (!isIPv6(plain)) return plain;
  const [before = [], after = []] = plain.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, GROUPS - before.length - after.length) }, () => '0');
  return [...before, ...zeros, ...after]
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
};

const NETWORK = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i;

/** Returns whether the text is an address, or a network in CIDR notation. */
export const isNetwork = (text: string): boolean => {
  const [, address = '', bits] = NETWORK.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && (bits === undefined || Number(bits) <= (family === 4 ? 32 : 128));
};

const toBlockList = (networks: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = '', bits] = NETWORK.exec(network) ?? [];
    if (bits === undefined) list.addAddress(address, addressFamily(address));
    else list.addSubnet(address, Number(bits), addressFamily(address));
  }
  return list;
};

/**
 * Returns the address without a port. Accepts addresses without a port, and `192.0.2.1:4711` or `[2001:db8::1]:4711`, which some
 * proxies send. Returns undefined for anything else.
 */
const parseAddress = (text: string): string | undefined => {
  const trimmed = text.trim();
  const bare = /^\[([\da-f.:]+)\](?::\d+)?$/i.exec(trimmed)?.[1] ?? /^([\d.]+):\d+$/.exec(trimmed)?.[1] ?? trimmed;
  return isIP(bare) === 0 ? undefined : plainAddress(bare);
};

export type ClientAddress = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string;

/**
 * Creates a function that returns whether an address is a trusted proxy.
 *
 * @param trustedProxies addresses and networks (`isNetwork`)
 */
export const proxyCheck = (trustedProxies: readonly string[]): ((address: string) => boolean) => {
  const trusted = toBlockList(trustedProxies);
  return (address) => isIP(address) !== 0 && trusted.check(address, addressFamily(address));
};

/**
 * Creates a function that returns the client address of a request. This is the address of the connection or, if that is a trusted
 * proxy, the last address in `X-Forwarded-For` that is not a trusted proxy. Each proxy appends the address that it received the
 * request from. Clients can forge the addresses before that one.
 *
 * @param trustedProxies addresses and networks (`isNetwork`)
 */
export const clientAddresses = (trustedProxies: readonly string[]): ClientAddress => {
  const isTrusted = proxyCheck(trustedProxies);
  return ({ headers, socket }) => {
    let client = plainAddress(socket.remoteAddress ?? '');
    if (trustedProxies.length === 0) return client;
    const forwarded = (headers['x-forwarded-for'] ?? '').toString().split(',').slice(-HOPS_MAX);
    while (isTrusted(client)) {
      const before = parseAddress(forwarded.pop() ?? '');
      if (before === undefined) return client;
      client = before;
    }
    return client;
  };
};
