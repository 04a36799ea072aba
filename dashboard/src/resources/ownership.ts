import type { ResourceObject } from '@standin/contract';

/** The GitOps tool that writes an object. It would revert changes made here. */
export interface Owner {
  readonly tool: 'Argo CD' | 'Flux' | 'Helm';
  /** Its application, kustomization or release. */
  readonly name: string;
}

/** `metadata` as the API server returns it: labels and annotations are arbitrary text. */
export const ownerOf = ({ metadata }: Pick<ResourceObject, 'metadata'>): Owner | undefined => {
  const { labels = {}, annotations = {} } = metadata;
  const trackingId = annotations['argocd.argoproj.io/tracking-id'];
  // APP:GROUP/KIND:NAMESPACE/NAME
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
  `${tool} manages this object (${name}) and would revert changes made here. Change it in its repository.`;
