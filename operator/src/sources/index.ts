export { directorySource, type DirectorySourceOptions, type LocatingSource } from './directory-source.ts';
export { kubernetesSource, type KubernetesSourceOptions } from './kubernetes-source.ts';
