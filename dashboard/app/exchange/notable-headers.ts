import type { HeaderPair } from '@standin/contract';

/** The maximum number of notable headers that are shown. */
const SHOWN_MAX = 8;

/** Headers that clients, servers and proxies add to almost every message. */
const ROUTINE =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|content-length|accept|accept-.+|cache-control|pragma|age|expires|date|server|vary|via|etag|last-modified|forwarded|dnt|priority|upgrade-insecure-requests|traceparent|tracestate|baggage|alt-svc|nel|report-to|cdn-loop|(?:sec|cf|access-control|cross-origin|x-forwarded|x-b3|x-envoy|x-amzn)-.+|strict-transport-security|referrer-policy|permissions-policy|content-security-policy|content-security-policy-report-only|x-(?:api-key|real-ip|powered-by|frame-options|content-type-options|xss-protection))$/i;

/** Returns the first headers that are worth reading, in their order. */
export const notableHeaders = (headers: readonly HeaderPair[]): readonly HeaderPair[] =>
  headers.filter(([name]) => !ROUTINE.test(name)).slice(0, SHOWN_MAX);
