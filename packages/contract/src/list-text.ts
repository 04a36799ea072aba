/** Returns a list for use in a sentence: `a`, `a and b`, `a, b and c`. */
export const listText = (items: readonly string[], word: 'and' | 'or' = 'and'): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1) ?? ''}`;

/** Returns a list of phrases, which may contain commas: `a; b; and c`. */
export const phraseListText = (phrases: readonly string[]): string =>
  phrases.map((phrase, index) => (index > 0 && index === phrases.length - 1 ? `and ${phrase}` : phrase)).join('; ');
