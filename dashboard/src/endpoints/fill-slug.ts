const PARAMETER = /\{([^{}/.]*)(\.\.\.)?\}/g;

/** Returns the names of a slug's path parameters: `/orders/{id}/{rest...}` has `id` and `rest`. */
export const slugParameters = (slug: string): string[] => [...slug.matchAll(PARAMETER)].map(([, name = '']) => name);

/** Returns the path with the values of its parameters, or what to change. Only the value of `{name...}` may contain slashes, or be empty. */
export const fillSlug = (
  slug: string,
  findValue: (name: string) => string,
): { readonly path: string } | { readonly unavailable: string } => {
  const problems: string[] = [];
  const path = slug.replaceAll(PARAMETER, (_, name: string, rest: string | undefined) => {
    const value = findValue(name);
    const segments = rest === undefined ? [value] : value.split('/');
    if (value === '' && rest === undefined) problems.push(`Enter a value for ${name}.`);
    // URLs cannot contain these segments, not even encoded. Some servers remove what follows a semicolon.
    else if (segments.some((segment) => /^\.{1,2}(;|$)/.test(segment)))
      problems.push(`The value for ${name} must not contain . or .. as a path segment.`);
    return segments.map(encodeURIComponent).join('/');
  });
  return problems[0] === undefined ? { path } : { unavailable: problems[0] };
};
