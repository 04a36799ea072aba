const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The host and port of a `Host` header. */
export const hostOf = (text: string | undefined): URL | undefined =>
  text !== undefined && URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;

/** Whether a `Host` header names this machine, or the local end of a port-forward. */
export const isLoopbackHost = (text: string | undefined): boolean => LOOPBACK_NAMES.has(hostOf(text)?.hostname ?? '');

/** The URL at which this machine reaches a server that listens on this address. IPv6 addresses are in brackets. */
export const urlOf = (scheme: 'http' | 'https', listenAddress: string, port: number): string => {
  const host = listenAddress === '0.0.0.0' ? '127.0.0.1' : listenAddress === '::' ? '::1' : listenAddress;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
};

/** Whether a server that listens on this address serves this machine only. */
export const isLoopbackAddress = (address: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1)$/.test(address);

/**
 * A server on loopback relies on its address for protection. Under a name of its own, another website reaches it from a browser on
 * this machine (DNS rebinding). Any other address is protected by the network, and has any name.
 */
export const isRebound = (listenAddress: string, host: string | undefined): boolean =>
  isLoopbackAddress(listenAddress) && !isLoopbackHost(host);
