/** Which resource, and where. Without `namespace`: cluster-scoped, or all namespaces. */
export interface ResourcePath {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string | undefined;
  readonly name?: string;
  readonly subresource?: string;
}

/** `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE`; every part is encoded, so no name can change the path. */
export const resourcePath = (path: ResourcePath): string => {
  const parts = path.group === '' ? ['api', path.version] : ['apis', path.group, path.version];
  if (path.namespace !== undefined) parts.push('namespaces', path.namespace);
  parts.push(path.plural);
  if (path.name !== undefined) parts.push(path.name);
  if (path.subresource !== undefined) parts.push(path.subresource);
  return `/${parts.map(encodeURIComponent).join('/')}`;
};
