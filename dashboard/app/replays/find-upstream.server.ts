import type { LogEntry } from '@standin/exchange';
import type { Backend } from '../../src/backend.ts';
import { endpointSpec } from '../lib/resources.server.ts';

/** What the endpoint of a captured request forwards to, in words. Undefined: the endpoint no longer exists, or has no upstream. */
export const upstreamOf = async (
  { resources }: Backend,
  { namespace, endpoint, endpointUid }: Pick<LogEntry, 'namespace' | 'endpoint' | 'endpointUid'>,
): Promise<string | undefined> => {
  const object = await resources.get({ kind: 'Endpoint', namespace, name: endpoint });
  if (object?.metadata.uid !== endpointUid) return undefined;
  const { forward } = endpointSpec(object);
  const service = forward?.serviceRef;
  return service === undefined ? forward?.url : `Service ${service.name}:${service.port}${service.path}`;
};
