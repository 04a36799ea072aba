import { expect, it } from 'vitest';
import { managingTool } from './ownership.ts';

const metadata = {
  name: 'a',
  namespace: 'b',
  uid: 'u',
  generation: 1,
  resourceVersion: '1',
  creationTimestamp: '2026-11-21T00:00:00Z',
};

it.each([
  [{ annotations: { 'argocd.argoproj.io/tracking-id': 'shop:standin.dev/Endpoint:default/a' } }, 'Argo CD', 'shop'],
  [{ labels: { 'argocd.argoproj.io/instance': 'shop' } }, 'Argo CD', 'shop'],
  [
    { labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps', 'kustomize.toolkit.fluxcd.io/namespace': 'flux-system' } },
    'Flux',
    'apps',
  ],
  [
    { labels: { 'helm.toolkit.fluxcd.io/name': 'mocks' }, annotations: { 'meta.helm.sh/release-name': 'mocks' } },
    'Flux',
    'mocks',
  ],
  [{ annotations: { 'meta.helm.sh/release-name': 'mocks' } }, 'Helm', 'mocks'],
])('%j is managed by %s (%s)', (more, tool, name) => {
  expect(managingTool({ metadata: { ...metadata, ...more } })).toEqual({ tool, name });
});

it.each([{}, { labels: { 'app.kubernetes.io/instance': 'shop', 'app.kubernetes.io/managed-by': 'kubectl' } }])(
  '%j is not managed by a tool',
  (more) => {
    expect(managingTool({ metadata: { ...metadata, ...more } })).toBeUndefined();
  },
);
