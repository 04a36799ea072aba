import type { CelList, CelMap } from '@bufbuild/cel';

/** How numbers of JSON were written, by their key or index. An integer that `String()` writes in the same way has no text. */
export type NumberTexts = Map<unknown, string>;

const TEXTS = Symbol('the texts of numbers');

type Container = (CelList | CelMap) & { [TEXTS]?: NumberTexts };

/** A number has no other properties in CEL, so its text is kept beside the list or map that contains it. */
export const numberTexts = (container: Container): NumberTexts | undefined => container[TEXTS];

export const keepNumberTexts = <C extends Container>(container: C, texts: NumberTexts | undefined): C => {
  if (texts !== undefined && texts.size > 0) container[TEXTS] = texts;
  return container;
};

/** Adds the text of a number to those of a container that is being built. Returns them. */
export const withNumberText = (texts: NumberTexts | undefined, key: unknown, text: string): NumberTexts =>
  (texts ?? new Map<unknown, string>()).set(key, text);
