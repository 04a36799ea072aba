/** Returns a copy without some of its properties. */
export const without = <T extends object, K extends string>(value: T, ...names: readonly K[]): Omit<T, K> => {
  const hidden: ReadonlySet<string> = new Set(names);
  return Object.fromEntries(Object.entries(value).filter(([name]) => !hidden.has(name))) as Omit<T, K>;
};
