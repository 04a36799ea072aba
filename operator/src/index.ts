export { runOperator, type Operator } from './operator.ts';
export type { OperatorParts } from './operator-parts.ts';
export type { RecordedClaims } from './claims/claim-controller.ts';
export { claimConfigMaps } from './claims/claim-store.ts';
export { certificateFile } from './publish/certificate-files.ts';
export type { Certificates, ServerCertificate } from './publish/certificates.ts';
export { ownCertificates, type CertificateSource, type CertificateStore } from './publish/certificate-renewal.ts';
export { noGatewayPods } from './gateways/gateway-pods.ts';
export { noGatewayMemory, type GatewayMemory } from './gateways/gateway-memory.ts';
export { identifiedSource } from './identity/identified-source.ts';
export { identitySecrets, INSTALLATION_SECRET } from './identity/identity-secrets.ts';
export type { CachedObjects } from './object-cache.ts';
export { LEASE_NAME, soleLeader, type Leadership, type Term } from './publish/leadership.ts';
export { ledgerConfigMaps, ledgerFiles, type LedgerStore } from './quota/ledger-store.ts';
export { operatorSettings, translateSettings, type OperatorSettings } from './settings.ts';
export {
  directorySource,
  kubernetesServices,
  kubernetesSource,
  MANIFEST_FILES_MAX,
  ManifestFolder,
  type LocatingObjects,
} from './sources/index.ts';
export type { StatusWritten } from './status/served-status.ts';
export * from './translate/index.ts';
export * from './validate/validate-manifests.ts';
