import ipaddr from 'ipaddr.js';
import { addressClass, reachableAddresses, matchesAny, type AddressClass } from './address-class.ts';

/**
 * Determines which addresses an upstream may have. Public addresses are always allowed. Regardless of the settings, cloud metadata
 * addresses are never allowed, because a metadata service hands out the machine's credentials, and neither are link-local,
 * multicast and unspecified addresses.
 */
export interface AddressPolicy {
  /** Whether loopback and private addresses are also allowed. Use this on a developer's machine, not in a cluster. */
  readonly allowPrivate: boolean;
  /** Networks in CIDR notation that the administrator allows, such as `10.20.0.0/16` or `fd12::/32`. */
  readonly allow: readonly string[];
}

export interface CheckOptions {
  /** Whether the upstream is named by `serviceRef`, so that a cluster address is expected. */
  readonly viaService?: boolean;
}

/** Classes of address that are blocked regardless of the settings. */
const NEVER: ReadonlySet<AddressClass> = new Set(['cloud metadata', 'link-local', 'multicast', 'unspecified']);

/**
 * Classes of address that Services and pods may have. Some clusters number their pods from 100.64.0.0/10 (EKS custom networking).
 * The metadata service in that range has its own class.
 */
const CLUSTER: ReadonlySet<AddressClass> = new Set(['private', 'carrier-grade NAT']);
const OWN_MACHINE: ReadonlySet<AddressClass> = new Set(['loopback', 'private']);

/** Returns whether `text` is valid in `AddressPolicy.allow`. */
export const isCidr = (text: string): boolean => ipaddr.isValidCIDR(text);

const allowedNetworks = (policy: AddressPolicy) => policy.allow.map((text) => ipaddr.parseCIDR(text));

export interface AddressRefusal {
  /** The address, followed by the address that it stands for if that is a different one. */
  readonly address: string;
  /**
   * The reason without the address, for example `a private address, which is not allowed by the administrator (egress.allow)`.
   */
  readonly kind: string;
}

/**
 * Returns the reason why a connection to `ip` is blocked, as a sentence without a full stop, or undefined if the connection is
 * allowed. Throws if the policy contains something that is not a CIDR (see `isCidr`).
 */
export const checkAddress = (ip: string, policy: AddressPolicy, options: CheckOptions = {}): string | undefined => {
  const refusal = refuseAddress(ip, policy, options);
  return refusal && `${refusal.address} is ${refusal.kind}`;
};

/** Like `checkAddress`, but returns the address and the kind separately, for callers that must not show the address to everyone. */
export const refuseAddress = (
  ip: string,
  policy: AddressPolicy,
  options: CheckOptions = {},
): AddressRefusal | undefined => {
  if (!ipaddr.isValid(ip)) return { address: ip, kind: 'not an IP address' };
  const allowed = allowedNetworks(policy);
  for (const destination of reachableAddresses(ip)) {
    const found = addressClass(destination);
    const mayBe =
      found === 'public' ||
      (policy.allowPrivate && OWN_MACHINE.has(found)) ||
      (options.viaService === true && CLUSTER.has(found)) ||
      matchesAny(destination, allowed) ||
      matchesAny(ipaddr.parse(ip), allowed);
    if (mayBe && !NEVER.has(found)) continue;
    const canonical = destination.toString();
    const inside = ipaddr.parse(ip).toString() === canonical ? '' : ` (which stands for ${canonical})`;
    const remedy = NEVER.has(found) ? 'is never allowed' : 'is not allowed by the administrator (egress.allow)';
    return { address: `${ip}${inside}`, kind: `a ${found} address, which ${remedy}` };
  }
  return undefined;
};

/** Host names of cloud providers' instance metadata services. */
const METADATA_NAMES = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'instance-data',
  'instance-data.ec2.internal',
]);

/** Without brackets and without a trailing dot. */
export const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

/** The port of an http or https URL, or of a connection for one. */
export const portNumber = ({ protocol, port }: { readonly protocol: string; readonly port: string }): number =>
  Number(port || (protocol === 'https:' ? 443 : 80));

/**
 * Returns the reason why `url` cannot be an upstream, as a sentence without a full stop, or undefined if nothing rules it out
 * without a DNS lookup. Checks the scheme, credentials, literal addresses, and names of this machine and of metadata services.
 * WHATWG URL has already converted `0x7f.1`, `2130706433` and `0177.1` to `127.0.0.1`. The addresses of a name are checked on
 * connection.
 */
export const checkUpstreamUrl = (url: URL, policy: AddressPolicy, options: CheckOptions = {}): string | undefined => {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return `the scheme must be http or https, not ${url.protocol.replace(/:$/, '')}`;
  }
  if (url.username !== '' || url.password !== '') {
    return 'the URL must not contain a user name or password; callers send their own authorization header';
  }
  const host = bareHost(url);
  if (host === '') return 'the URL has no host';
  if (ipaddr.isValid(host)) return checkAddress(host, policy, options);
  if (METADATA_NAMES.has(host)) return `${host} is a cloud metadata service, which is never allowed`;
  if (host === 'localhost' || host.endsWith('.localhost')) {
    const refused = ['127.0.0.1', '::1'].every((ip) => checkAddress(ip, policy, options) !== undefined);
    return refused
      ? `${host} is a loopback address, which is not allowed by the administrator (egress.allow)`
      : undefined;
  }
  return undefined;
};
