/** How many characters before the first difference an excerpt shows. */
const LEAD_CHARS = 40;

const isLow = (text: string, at: number): boolean => /[\uDC00-\uDFFF]/.test(text.charAt(at));

/**
 * Returns at most `charsMax` characters of a text, with `…` in the place of the others. If they would not include the first
 * difference from `other`, the excerpt begins shortly before it.
 */
export const excerpt = (text: string, other: string | undefined, charsMax: number): string => {
  if (text.length <= charsMax && (other === undefined || other.length <= charsMax)) return text;
  let same = 0;
  while (other !== undefined && same < Math.min(text.length, other.length) && text[same] === other[same]) same += 1;
  const isNear = other === undefined || same < charsMax - LEAD_CHARS;
  // An excerpt must not begin or end within a surrogate pair.
  const near = isNear ? 0 : same - LEAD_CHARS;
  const from = isLow(text, near) ? near - 1 : near;
  const end = isLow(text, from + charsMax) ? from + charsMax - 1 : from + charsMax;
  return `${from > 0 ? '…' : ''}${text.slice(from, end)}${end < text.length ? '…' : ''}`;
};
