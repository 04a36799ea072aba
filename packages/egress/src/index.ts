export { checkUpstreamUrl, isCidr, type AddressPolicy, type CheckOptions } from './address-policy.ts';
export { Authority, type UpstreamTls } from './authority.ts';
export { findCertificates } from './certificates.ts';
export { createEgress, type Egress, type EgressOptions, type UpstreamRequest } from './egress.ts';
export { EgressError, secretWithdrawn } from './egress-error.ts';
export { type UpstreamResponse } from './exchange.ts';
export { GatheredBytes } from './gathered-bytes.ts';
export { changeHeaders, stripHopByHop } from './headers.ts';
export { type Lookup, type ResolvedAddress } from './lookup.ts';
export { isTarget, parseTarget, RefusedTargets, urlTarget, type Target } from './refused-targets.ts';
export {
  replayRequest,
  type CapturedRequest,
  type ReplayDestination,
  type ReplayRequest,
  type RequestEdit,
} from './replay-request.ts';
export { egressSettings } from './settings.ts';
export { joinUpstreamUrl } from './upstream-url.ts';
