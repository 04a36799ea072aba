export { directorySource } from './directory-source.ts';
export { kubernetesServices } from './kubernetes-services.ts';
export { kubernetesSource } from './kubernetes-source.ts';
export type { LocatingObjects } from './locating-source.ts';
export { MANIFEST_FILES_MAX, ManifestFolder } from './manifest-folder.ts';
