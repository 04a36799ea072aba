import type { DesiredObject, ObjectRef, Objects, ResourceObject, ResourceSource } from '@standin/contract';

/** An object's text in its file, before and after a user has edited it. It includes comments, and has `\n` between lines. */
export interface EditedText {
  readonly before: string;
  readonly after: string;
}

/** Objects, and where they are written. */
export interface LocatingObjects extends Objects {
  /** Returns the location, such as `orders.yaml:12`, relative to the directory, or undefined if the object does not exist. */
  whereIs(ref: ObjectRef): string | undefined;
  /**
   * Resolves with the object's text in its file. Resolves with undefined if the object does not exist, or has no text of its own:
   * it is in a JSON file, or it is an item of a List.
   */
  objectText(ref: ObjectRef): Promise<string | undefined>;
  /** With `text`, writes this text, which must contain the object. Rejects with `Conflict` if the text in the file has changed. */
  apply(object: DesiredObject, text?: EditedText): Promise<ResourceObject>;
}

/** A source that knows where its objects are written. */
export interface LocatingSource extends ResourceSource {
  readonly objects: LocatingObjects;
}
