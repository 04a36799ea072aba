export { actFiles, type ActFiles, type SeenAct } from './act-files.ts';
export { directorySource, type DirectorySourceOptions } from './directory-source.ts';
export type { LocatingSource } from './folder-source.ts';
export { kubernetesServices, type KubernetesServicesOptions } from './kubernetes-services.ts';
export { kubernetesSource, type KubernetesSourceOptions } from './kubernetes-source.ts';
export { ManifestFolder } from './manifest-folder.ts';
