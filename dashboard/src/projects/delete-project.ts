import type { ResourceObject } from '@standin/contract';
import type { Backend } from '../backend.ts';
import { listEndpoints } from '../endpoints/endpoints.ts';
import { ownerOf, ownershipReason } from '../resources/ownership.ts';

/** Deletes a project, after its endpoints if requested. Resolves to the reason if another tool manages one of them. Rejects with `SourceError`. */
export const deleteProject = async (
  backend: Backend,
  project: ResourceObject,
  { withEndpoints }: { readonly withEndpoints: boolean },
): Promise<string | undefined> => {
  const { namespace, name } = project.metadata;
  const owner = ownerOf(project);
  if (owner !== undefined) return ownershipReason(owner);
  const endpoints = withEndpoints ? await listEndpoints(backend, { namespace, project: name }) : [];
  for (const endpoint of endpoints) {
    const itsOwner = ownerOf(endpoint);
    if (itsOwner !== undefined)
      return `Endpoint ${endpoint.metadata.name} cannot be deleted here. ${ownershipReason(itsOwner)}`;
  }
  for (const endpoint of endpoints)
    await backend.resources.delete({ kind: 'Endpoint', namespace, name: endpoint.metadata.name });
  await backend.resources.delete({ kind: 'Project', namespace, name });
  return undefined;
};
