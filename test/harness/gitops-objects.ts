import type { RenderedObject } from './helm.ts';

/** The kinds of Argo CD, Flux and Standin, with only those fields that the tests of docs/guides/gitops/repository read. */

export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

export interface AppProjectSpec {
  readonly sourceRepos: readonly string[];
  readonly destinations: readonly { readonly server: string; readonly namespace: string }[];
  readonly clusterResourceWhitelist: readonly GroupKind[];
  readonly namespaceResourceWhitelist?: readonly GroupKind[];
}

interface ApplicationSource {
  readonly repoURL: string;
  readonly path?: string;
  readonly helm?: { readonly valueFiles: readonly string[] };
}

export interface ApplicationSpec {
  readonly project: string;
  readonly source?: ApplicationSource;
  readonly sources?: readonly ApplicationSource[];
  readonly destination: { readonly server: string; readonly namespace?: string };
  readonly syncPolicy: { readonly syncOptions?: readonly string[]; readonly retry?: { readonly limit: number } };
}

interface ApplicationSetSpec {
  readonly generators: readonly [
    { readonly git: { readonly repoURL: string; readonly directories: readonly { readonly path: string }[] } },
  ];
  readonly template: { readonly metadata: { readonly name: string }; readonly spec: ApplicationSpec };
}

interface FluxKustomizationSpec {
  readonly path: string;
  readonly dependsOn?: readonly { readonly name: string }[];
  readonly sourceRef: { readonly kind: string; readonly name: string };
  readonly serviceAccountName?: string;
  readonly targetNamespace?: string;
  readonly wait?: boolean;
}

interface HelmReleaseSpec {
  readonly releaseName: string;
  readonly chart: { readonly spec: { readonly chart: string; readonly sourceRef: { readonly name: string } } };
  readonly valuesFrom: readonly { readonly name: string }[];
}

export interface KindSpecs {
  readonly AppProject: AppProjectSpec;
  readonly Application: ApplicationSpec;
  readonly ApplicationSet: ApplicationSetSpec;
  readonly Kustomization: FluxKustomizationSpec;
  readonly GitRepository: unknown;
  readonly HelmRelease: HelmReleaseSpec;
  readonly Project: { readonly accountRef: { readonly name: string }; readonly uri?: string };
  readonly Endpoint: { readonly projectRef: { readonly name: string } };
}

interface Found<Spec> {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly spec: Spec;
}

export const ofKind = <Kind extends keyof KindSpecs>(
  objects: readonly RenderedObject[],
  kind: Kind,
): readonly Found<KindSpecs[Kind]>[] =>
  objects
    .filter((object) => object.kind === kind)
    .map(({ metadata, spec }) => ({
      name: metadata.name,
      namespace: metadata.namespace,
      spec: spec as KindSpecs[Kind],
    }));

export const objectNames = (objects: readonly RenderedObject[], kind: string): string[] =>
  objects.filter((object) => object.kind === kind).map(({ metadata: { name } }) => name);
