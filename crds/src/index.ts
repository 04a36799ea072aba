export { progressIn } from './operations.ts';
export {
  customResourceDefinition,
  SCHEMA_DIGEST_ANNOTATION,
  SCHEMA_FIELDS_ANNOTATION,
  schemaDigest,
} from './custom-resource-definition.ts';
export { durationMs } from './duration.ts';
export { headerValueRules } from './http-rules.ts';
export { endpointRoute } from './endpoint-route.ts';
export { DEFINITIONS } from './kinds.ts';
export { decodeManifest, ManifestEncodingError, parseManifest, pathSteps } from './manifest.ts';
export type { Manifest, ManifestDocument, ManifestProblem } from './manifest.ts';
export { jsonMockConfig, responseConfigs } from './mock-configs.ts';
export { checkUpdate, parseObject } from './parse.ts';
export type { ParsedObject, ParseResult, Problem, Specs } from './parse.ts';
export { projectUri } from './project-uri.ts';
export { conditionsIn, readStatus } from './read-status.ts';
export { regenerationWindow } from './regeneration-window.ts';
export type { RegenerationWindow } from './regeneration-window.ts';
export { shareRefusal } from './share-refusal.ts';
export type { ShareSurroundings } from './share-refusal.ts';
export { validEndpointParts } from './valid-parts.ts';
export { writeYaml } from './write-yaml.ts';
export { yamlDocuments } from './yaml-documents.ts';
export type { AccountSpec, AccountStatus } from './v1alpha1/account.ts';
export type { EndpointSpec, EndpointStatus } from './v1alpha1/endpoint.ts';
export type { ExpectationSpec, ExpectationStatus } from './v1alpha1/expectation.ts';
export type { KeyRegenerationSpec, KeyRegenerationStatus } from './v1alpha1/key-regeneration.ts';
export type { ProjectSpec, ProjectStatus } from './v1alpha1/project.ts';
export type { PurgeSpec, PurgeStatus } from './v1alpha1/purge.ts';
export type { ReplaySpec, ReplayStatus } from './v1alpha1/replay.ts';
export type { ShareSpec, ShareStatus } from './v1alpha1/share.ts';
