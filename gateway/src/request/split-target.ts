/** The parts of a request target in origin form. */
export interface TargetParts {
  /** The first path segment, without slashes. */
  readonly projectUri: string;
  /** The rest of the path, up to the query. */
  readonly path: string;
  /** The part of the target after the first `?`. */
  readonly query: string;
}

export const splitTarget = (target: string): TargetParts => {
  const queryAt = target.indexOf('?');
  const pathEnd = queryAt === -1 ? target.length : queryAt;
  const slashAt = target.indexOf('/', 1);
  const uriEnd = slashAt === -1 || slashAt > pathEnd ? pathEnd : slashAt;
  return {
    projectUri: target.slice(1, uriEnd),
    path: target.slice(uriEnd, pathEnd),
    query: queryAt === -1 ? '' : target.slice(queryAt + 1),
  };
};
