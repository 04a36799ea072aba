import type { ResourceObject } from '@standin/contract';
import { projectStatus } from '../lib/resources.server.ts';

/**
 * The gateway's URL for a project, without the project's URI: targets of captured requests begin with that URI. Undefined until the project has a
 * URL.
 */
export const gatewayUrl = (project: ResourceObject): string | undefined => {
  const { uri, url } = projectStatus(project);
  const end = `/${uri ?? ''}`;
  return uri !== undefined && url?.endsWith(end) === true ? url.slice(0, -end.length) : undefined;
};
