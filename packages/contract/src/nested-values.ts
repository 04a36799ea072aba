/** Returns an object with values at paths, such as `log.level`. No path is the beginning of another one. */
export const nestedValues = (entries: Iterable<readonly [path: string, value: unknown]>): Record<string, unknown> => {
  const groups = new Map<string, [path: string, value: unknown][]>();
  for (const [path, value] of entries) {
    const [first = '', ...rest] = path.split('.');
    groups.set(first, [...(groups.get(first) ?? []), [rest.join('.'), value]]);
  }
  const valueIn = (members: readonly (readonly [path: string, value: unknown])[]): unknown =>
    members[0]?.[0] === '' ? members[0][1] : nestedValues(members);
  return Object.fromEntries([...groups].map(([name, members]) => [name, valueIn(members)]));
};
