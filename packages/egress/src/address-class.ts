import ipaddr from 'ipaddr.js';

/** Kinds of IP addresses, by the harm that a request to them can cause. */
export type AddressClass =
  | 'public'
  | 'loopback'
  | 'private'
  | 'carrier-grade NAT'
  | 'link-local'
  | 'cloud metadata'
  | 'documentation'
  | 'reserved'
  | 'multicast'
  | 'unspecified';

/**
 * Addresses of services that hand out the machine's credentials to any client that can reach them. 169.254.0.0/16 is blocked as a
 * whole, but most of these addresses are outside that range.
 */
const METADATA = new Set([
  '169.254.169.254', // AWS, GCP, Azure, OpenStack, DigitalOcean, Oracle
  '169.254.170.2', // AWS ECS task credentials
  '169.254.170.23', // AWS EKS pod identity
  '100.100.100.200', // Alibaba Cloud
  '168.63.129.16', // Azure WireServer, which has a public address
  '192.0.0.192', // Oracle Cloud
  'fd00:ec2::254', // AWS
  'fd00:ec2::23', // AWS EKS pod identity
  'fd20:ce::254', // GCP
  'fd00:c1::a9fe:a9fe', // Oracle Cloud
  'fd00:42::42', // Scaleway
]);

const cidrs = (...texts: string[]) => texts.map((text) => ipaddr.parseCIDR(text));

const DOCUMENTATION = cidrs('192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20');
/** The whole IPv4 internet, as seen by an IPv6-only cluster with DNS64 (RFC 6052) or through a site's own translator (RFC 8215). */
const NAT64 = cidrs('64:ff9b::/96', '64:ff9b:1::/48');
/** `::a.b.c.d` (RFC 4291, deprecated) and `::ffff:0:a.b.c.d` (RFC 2765). `::` and `::1` do not embed an address. */
const IPV4_IN_LAST_BYTES = cidrs('::/96', '::ffff:0:0:0/96');
/** IANA allocates only this part of IPv6 as global unicast. Other addresses that have no special purpose are unassigned. */
const GLOBAL_UNICAST = cidrs('2000::/3');

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Cidr = [Address, number];

export const matchesAny = (address: Address, ranges: readonly Cidr[]): boolean =>
  ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));

const ipv4At = (bytes: readonly number[], positions: readonly number[]): ipaddr.IPv4 =>
  new ipaddr.IPv4(positions.map((position) => bytes[position] ?? 0));

/**
 * Returns the IPv4 addresses that an IPv6 address stands for. Packets to the IPv6 address reach the IPv4 addresses through a
 * translator or tunnel, so the IPv4 addresses determine the class. Returns an empty list if the address stands for itself.
 */
const embeddedIpv4 = (address: ipaddr.IPv6): ipaddr.IPv4[] => {
  const bytes = address.toByteArray();
  const last = ipv4At(bytes, [12, 13, 14, 15]);
  const range = address.range();
  if (range === 'ipv4Mapped') return [last];
  if (range === '6to4') return [ipv4At(bytes, [2, 3, 4, 5])];
  if (range === 'teredo') {
    // RFC 4380 section 4: the server address is plain, the client address is inverted.
    const client = new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff));
    return [ipv4At(bytes, [4, 5, 6, 7]), client];
  }
  if (matchesAny(address, NAT64)) {
    // RFC 6052 section 2.2: the position of the address depends on a prefix length that only the translator knows. Four bytes that
    // are an address in 0.0.0.0/8 cannot be the destination, so their position is ruled out.
    const positions = [
      [12, 13, 14, 15],
      [9, 10, 11, 12],
      [7, 9, 10, 11],
      [6, 7, 9, 10],
    ];
    const used = bytes[5] === 1 ? positions : positions.slice(0, 1);
    const candidates = used.map((position) => ipv4At(bytes, position));
    const destinations = candidates.filter((candidate) => candidate.octets[0] !== 0);
    return destinations.length > 0 ? destinations : [last];
  }
  if (range === 'unspecified' || range === 'loopback') return [];
  return matchesAny(address, IPV4_IN_LAST_BYTES) ? [last] : [];
};

/**
 * Returns the addresses that a packet to `ip` can reach, which are the embedded IPv4 addresses, or `ip` itself if there are none.
 * Throws if `ip` is not an IP address.
 */
export const reachableAddresses = (ip: string): Address[] => {
  const address = ipaddr.parse(ip);
  if (address instanceof ipaddr.IPv4) return [address];
  const embedded = embeddedIpv4(address);
  return embedded.length > 0 ? embedded : [address];
};

const BY_RANGE: Readonly<Record<string, AddressClass>> = {
  unspecified: 'unspecified',
  broadcast: 'multicast',
  multicast: 'multicast',
  linkLocal: 'link-local',
  loopback: 'loopback',
  carrierGradeNat: 'carrier-grade NAT',
  private: 'private',
  uniqueLocal: 'private',
  unicast: 'public',
};

export const addressClass = (address: Address): AddressClass => {
  // A zone (fe80::1%eth0) names an interface on this machine, not another address.
  const text = address.toString().replace(/%.*/, '');
  if (METADATA.has(text)) return 'cloud metadata';
  if (matchesAny(address, DOCUMENTATION)) return 'documentation';
  const found = BY_RANGE[address.range()] ?? 'reserved';
  if (found === 'public' && address instanceof ipaddr.IPv6 && !matchesAny(address, GLOBAL_UNICAST)) return 'reserved';
  return found;
};

/**
 * Returns the class of an IP address in any spelling that inet_aton or RFC 4291 allows. An IPv6 address that stands for IPv4
 * addresses (v4-mapped, NAT64, 6to4, Teredo, …) has the class of the first of them that is not public. Throws if `ip` is not an
 * IP address.
 *
 * Sources: IANA special-purpose registries (RFC 6890), ipaddr.js, cloud documentation.
 */
export const classifyAddress = (ip: string): AddressClass => {
  const classes = reachableAddresses(ip).map(addressClass);
  return classes.find((found) => found !== 'public') ?? 'public';
};
