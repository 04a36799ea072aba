import type { ApiMethod, ApiRoute } from './route.ts';

export type Match =
  | { readonly kind: 'found'; readonly route: ApiRoute; readonly params: Readonly<Record<string, string>> }
  /** The path exists, but only with other methods. */
  | { readonly kind: 'other-method'; readonly allowed: readonly ApiMethod[] }
  | { readonly kind: 'none' };

/** `/projects/{project}/requests:wait` → an expression with one group per parameter. A parameter is one path segment. */
const expressionOf = (template: string): RegExp => new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);

const decoded = (groups: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined => {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined;
  }
};

/** Finds the route of a method and a path. The path is still percent-encoded. */
export const routeMatcher = (routes: readonly ApiRoute[]): ((method: string, path: string) => Match) => {
  const table = routes.map((route) => ({ route, expression: expressionOf(route.path) }));
  return (method, path) => {
    const onPath = table.flatMap(({ route, expression }) => {
      const match = expression.exec(path);
      const params = match === null ? undefined : decoded({ ...match.groups });
      return params === undefined ? [] : [{ route, params }];
    });
    const found = onPath.find(({ route }) => route.method === method);
    if (found !== undefined) return { kind: 'found', ...found };
    const allowed = [...new Set(onPath.map(({ route }) => route.method))];
    return allowed.length > 0 ? { kind: 'other-method', allowed } : { kind: 'none' };
  };
};
