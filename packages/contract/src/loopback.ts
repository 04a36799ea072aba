const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Returns the host and port in a `Host` header as a URL, or undefined if the header is missing or invalid. */
export const parseHostHeader = (text: string | undefined): URL | undefined =>
  text !== undefined && URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;

/** Returns whether a `Host` header names this machine or the local end of a port-forward. */
export const isLoopbackHost = (text: string | undefined): boolean =>
  LOOPBACK_NAMES.has(parseHostHeader(text)?.hostname ?? '');

/** Returns the URL at which this machine reaches a server that listens on this address. Puts IPv6 addresses in brackets. */
export const listenUrl = (scheme: 'http' | 'https', listenAddress: string, port: number): string => {
  const host = listenAddress === '0.0.0.0' ? '127.0.0.1' : listenAddress === '::' ? '::1' : listenAddress;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
};

/** Returns whether a server that listens on this address serves only this machine. */
export const isLoopbackAddress = (address: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1)$/.test(address);

/**
 * Returns whether a request to a server on loopback may be a DNS rebinding attack. Such a server relies on its address for
 * protection, but another website can make a browser on this machine reach the server under that website's own name. On any other
 * address, the network protects the server, which may have any name.
 */
export const isRebound = (listenAddress: string, host: string | undefined): boolean =>
  isLoopbackAddress(listenAddress) && !isLoopbackHost(host);
