import type { ResourceObject } from '@standin/contract';
import type { Backend } from '../../src/backend.ts';
import { refusalOf } from '../lib/failures.server.ts';
import { ownerOf, ownershipReason } from '../lib/ownership.ts';
import { listEndpoints } from '../lib/resources.server.ts';

/** Deletes a project, after its endpoints if the form requests it. Resolves to the reason if the project is not deleted. */
export const deleteProject = async (
  backend: Backend,
  project: ResourceObject,
  form: FormData,
): Promise<string | undefined> => {
  const { namespace, name } = project.metadata;
  const owner = ownerOf(project);
  if (owner !== undefined) return ownershipReason(owner);
  if (form.get('confirmation') !== name) return `Type ${name} to confirm.`;
  const endpoints = form.get('endpoints') === 'on' ? await listEndpoints(backend, { namespace, project: name }) : [];
  const managed = endpoints.find((endpoint) => ownerOf(endpoint) !== undefined);
  const itsOwner = managed && ownerOf(managed);
  if (managed !== undefined && itsOwner !== undefined)
    return `Endpoint ${managed.metadata.name} cannot be deleted here. ${ownershipReason(itsOwner)}`;
  try {
    for (const endpoint of endpoints)
      await backend.resources.delete({ kind: 'Endpoint', namespace, name: endpoint.metadata.name });
    await backend.resources.delete({ kind: 'Project', namespace, name });
  } catch (error) {
    return refusalOf(error);
  }
  return undefined;
};
