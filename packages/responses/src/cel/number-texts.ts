import { isCelUint, type CelList, type CelMap, type CelValue } from '@bufbuild/cel';

/** How numbers of JSON were written, by their `textKey` or index. An integer that `String()` writes in the same way has no text. */
export type NumberTexts = Map<unknown, string>;

const TEXTS = Symbol('the texts of numbers');

type Container = (CelList | CelMap) & { [TEXTS]?: NumberTexts };

/** Returns the key for the text of a member of a map. Numbers of different types are the same key. */
export const textKey = (key: CelValue): CelValue => {
  if (typeof key === 'number') return Number.isInteger(key) ? BigInt(key) : key;
  return isCelUint(key) ? key.value : key;
};

/** A number has no other properties in CEL, so its text is kept beside the list or map that contains it. */
export const numberTexts = (container: Container): NumberTexts | undefined => container[TEXTS];

export const keepNumberTexts = <C extends Container>(container: C, texts: NumberTexts | undefined): C => {
  if (texts !== undefined && texts.size > 0) container[TEXTS] = texts;
  return container;
};

/** Adds the text of a number to those of a container that is being built. Returns them. */
export const withNumberText = (texts: NumberTexts | undefined, key: unknown, text: string): NumberTexts =>
  (texts ?? new Map<unknown, string>()).set(key, text);

/** Returns the texts of a list that has the items of both lists. */
export const joinedTexts = (left: CelList, right: CelList): NumberTexts | undefined => {
  const added = numberTexts(right);
  if (added === undefined) return numberTexts(left);
  const texts: NumberTexts = new Map(numberTexts(left));
  for (const [index, text] of added) texts.set(left.size + Number(index), text);
  return texts;
};
