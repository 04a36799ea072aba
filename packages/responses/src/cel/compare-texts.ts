/** Surrogates encode the characters after U+FFFF, but are less than the characters from U+E000 to U+FFFF. */
const codeUnitRank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** Returns a negative number if the first text comes before the second one, in the order of Unicode characters. */
export const compareTexts = (left: string, right: string): number => {
  const end = Math.min(left.length, right.length);
  let at = 0;
  while (at < end && left.charCodeAt(at) === right.charCodeAt(at)) at += 1;
  return at === end
    ? left.length - right.length
    : codeUnitRank(left.charCodeAt(at)) - codeUnitRank(right.charCodeAt(at));
};
