/** Returns a member of a plain object. Members that all objects inherit, such as `constructor`, are undefined. */
export const ownMember = <T>(object: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
