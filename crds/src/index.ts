export { customResourceDefinition, SCHEMA_DIGEST_ANNOTATION, schemaDigest } from './custom-resource-definition.ts';
export { durationMs } from './duration.ts';
export { generateManifests } from './generate.ts';
export { DEFINITIONS } from './kinds.ts';
export type { AccountSpec, AccountStatus } from './v1alpha1/account.ts';
export type { EndpointSpec, EndpointStatus } from './v1alpha1/endpoint.ts';
export type { ProjectSpec, ProjectStatus } from './v1alpha1/project.ts';
