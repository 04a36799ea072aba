// client-node resolves '.' and '..' in names, so that a call can reach another object.

import { SourceError } from '@standin/contract';

/** A resource and its location. Without `namespace`, it is cluster-scoped or covers all namespaces. */
export interface ResourcePath {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string | undefined;
  readonly name?: string;
  readonly subresource?: string | undefined;
}

/**
 * Path parts that are rejected. An empty part would leave out a level of the path. URL encoding keeps `.` and `..`, and URL parsers
 * resolve them.
 */
const STEPS: ReadonlySet<string> = new Set(['', '.', '..']);

/**
 * Returns `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE` without the parts that are undefined, or
 * `/api/VERSION/…` for the core group. Encodes every part, so that no name can change the path. Throws a `SourceError` for a part
 * that is empty, `.` or `..`.
 */
export const resourcePath = (path: ResourcePath): string => {
  const parts = path.group === '' ? ['api', path.version] : ['apis', path.group, path.version];
  if (path.namespace !== undefined) parts.push('namespaces', path.namespace);
  parts.push(path.plural);
  if (path.name !== undefined) parts.push(path.name);
  if (path.subresource !== undefined) parts.push(path.subresource);
  const step = parts.find((part) => STEPS.has(part));
  if (step !== undefined)
    throw new SourceError('Invalid', `${JSON.stringify(step)} is not a valid Kubernetes name; use a different name`);
  return `/${parts.map(encodeURIComponent).join('/')}`;
};
