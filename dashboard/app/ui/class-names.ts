/** Joins class names. False and undefined are left out. */
export const classNames = (...names: readonly (string | false | undefined)[]): string =>
  names.filter(Boolean).join(' ');
