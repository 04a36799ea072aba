import { lookup as systemLookup } from 'node:dns';
import { queryAddresses, type NameServer } from './dns-query.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Resolves with all addresses of a name, in the order in which to try them. Rejects as `dns.lookup` does. */
export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** Uses the machine's resolver (/etc/hosts, search domains, DNS), like every other program on it. */
export const lookupAll: Lookup = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true, order: 'verbatim' }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });

/** For slow name servers. If a datagram is lost, the name waits as if it were not probed. */
const ONE_ATTEMPT = { max: 1, timeoutMs: 3_000 };

/** Resolves with whether a name server responds for the name, even if it does not exist. Resolves with false when the signal aborts. */
export type Probe = (hostname: string, signal: AbortSignal) => Promise<boolean>;

/** Queries the addresses of both families once, as `lookupAll` does, which then takes no longer than the name server. */
export const probeName: Probe = async (hostname, signal) => {
  const options = { attempts: ONE_ATTEMPT, signal };
  const results = await Promise.allSettled([
    queryAddresses(hostname, 'A', options),
    queryAddresses(hostname, 'AAAA', options),
  ]);
  return results.every(({ status }) => status === 'fulfilled');
};

/** The cluster's DNS data for the name of a Service. */
export interface ServiceAddresses {
  /** Whether the name is an alias, such as that of an ExternalName Service. */
  readonly isAlias: boolean;
  /** Empty if the Service does not exist, or if it is headless and none of its pods is ready. */
  readonly addresses: readonly ResolvedAddress[];
}

/** Rejects with an error whose code is `EAI_AGAIN` or `ENOTFOUND`. */
export type ServiceLookup = (hostname: string) => Promise<ServiceAddresses>;

/** Queries the addresses of both families. A response for one family is enough, because some servers fail on IPv6. */
export const lookupService = async (hostname: string, servers?: readonly NameServer[]): Promise<ServiceAddresses> => {
  const results = await Promise.allSettled([
    queryAddresses(hostname, 'A', { servers }),
    queryAddresses(hostname, 'AAAA', { servers }),
  ]);
  const answers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const [failed] = results.filter((result) => result.status === 'rejected');
  if (answers.length === 0 && failed !== undefined) throw failed.reason;
  return {
    isAlias: answers.some(({ isAlias }) => isAlias),
    addresses: answers.flatMap(({ addresses }) =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    ),
  };
};
