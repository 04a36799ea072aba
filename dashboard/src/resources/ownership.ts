import type { ResourceObject } from '@standin/contract';

/** The GitOps tool that manages an object. The tool would revert changes made here. */
export interface Owner {
  readonly tool: 'Argo CD' | 'Flux' | 'Helm';
  /** Name of the tool's application, kustomization or release. */
  readonly name: string;
}

/** Returns the tool that manages an object, if its labels or annotations identify one. Their values are untrusted text. */
export const managingTool = ({ metadata }: Pick<ResourceObject, 'metadata'>): Owner | undefined => {
  const { labels = {}, annotations = {} } = metadata;
  const trackingId = annotations['argocd.argoproj.io/tracking-id'];
  // The format is APP:GROUP/KIND:NAMESPACE/NAME.
  if (trackingId !== undefined) return { tool: 'Argo CD', name: trackingId.split(':')[0] ?? '' };
  const instance = labels['argocd.argoproj.io/instance'];
  if (instance !== undefined) return { tool: 'Argo CD', name: instance };
  for (const controller of ['kustomize', 'helm']) {
    const name = labels[`${controller}.toolkit.fluxcd.io/name`];
    if (name !== undefined) return { tool: 'Flux', name };
  }
  const release = annotations['meta.helm.sh/release-name'];
  return release === undefined ? undefined : { tool: 'Helm', name: release };
};

export const ownershipReason = ({ tool, name }: Owner): string =>
  `${tool} (${name}) manages this object and would revert changes made here. Change the object at its source, such as a Git repository.`;
