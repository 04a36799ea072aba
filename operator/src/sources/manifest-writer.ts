import { realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { KINDS, objectRef, SourceError, type DesiredObject, type ObjectRef } from '@standin/contract';
import { replaceFile } from '@standin/process/replace-file';
import type { EditedText } from './locating-source.ts';
import { editManifest, manifestText, newManifest, removeFromManifest, replaceManifestText } from './manifest-edit.ts';
import type { ManifestFolder } from './manifest-folder.ts';
import { manifestKey, readManifest, type ManifestObject } from './manifest-objects.ts';
import { canonicalJson } from './merge-patch.ts';

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const MANIFEST_MODE = 0o644;

const manifestContent = ({ metadata, spec }: ManifestObject): string => canonicalJson([metadata, spec]);

const desiredContent = ({
  metadata: { name, namespace, labels = {}, annotations = {} },
  spec,
}: DesiredObject): string => {
  const maps = {
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
  return canonicalJson([{ name, namespace, ...maps }, spec]);
};

/**
 * Returns whether an edit produces the desired object and leaves all other objects unchanged. An edit to an anchor with references
 * fails this check.
 */
const isFaithful = (before: string, after: string, key: string, wanted: string | undefined): boolean => {
  const read = (text: string) =>
    new Map(readManifest(text, '', KINDS).objects.map((object) => [object.key, manifestContent(object)] as const));
  const expected = read(before);
  if (wanted === undefined) expected.delete(key);
  else expected.set(key, wanted);
  const got = read(after);
  return got.size === expected.size && [...expected].every(([name, content]) => got.get(name) === content);
};

/** Writes objects to a directory of manifests. An existing object is changed in its file, so that the change can be committed. */
export class ManifestWriter {
  readonly #folder: ManifestFolder;

  constructor(folder: ManifestFolder) {
    this.#folder = folder;
  }

  /** Resolves with the object's text in its file, if it has one of its own. Rejects with `SourceError`. */
  async objectText(ref: ObjectRef, file: string): Promise<string | undefined> {
    return manifestText(await this.#read(file), ref);
  }

  /**
   * Resolves with the path of the written file. Rejects with `SourceError`.
   *
   * @param file the object's current file, or undefined if the object is new
   * @param text the text that replaces the object's text; by default, the writer changes only what differs
   */
  async write(desired: DesiredObject, file: string | undefined, text?: EditedText): Promise<string> {
    const { kind, metadata } = desired;
    for (const part of [metadata.name, metadata.namespace]) {
      if (!NAME.test(part))
        throw new SourceError(
          'Invalid',
          `"${part}" is not a name that Kubernetes accepts: use lowercase letters, digits, - and .`,
        );
    }
    if (file === undefined) return this.#create(desired);
    const before = await this.#read(file);
    const ref = objectRef(desired);
    const after = text === undefined ? editManifest(before, desired) : replaceManifestText(before, ref, text);
    if (after === undefined)
      throw new SourceError('Conflict', `${file} was changed by another program: read it again, then retry`);
    const key = manifestKey({ kind, ...metadata });
    if (!isFaithful(before, after, key, desiredContent(desired))) {
      throw new SourceError(
        'Invalid',
        `${file} cannot be changed here, because its objects share parts (YAML anchors) or the file is damaged: edit ${file} in a text editor`,
      );
    }
    if (after !== before) await this.#write(file, after);
    return file;
  }

  /** Removes the object from the file, or the file if nothing else is in it. Rejects with `SourceError` if the file cannot be changed. */
  async remove(ref: ObjectRef, file: string): Promise<void> {
    const before = await this.#read(file);
    const after = removeFromManifest(before, ref);
    if (after === undefined)
      throw new SourceError('Conflict', `${file} was changed by another program: read it again, then retry`);
    if (after === '') {
      await this.#io(file, rm(join(this.#folder.path, file)));
      return;
    }
    if (!isFaithful(before, after, manifestKey(ref), undefined)) {
      throw new SourceError(
        'Invalid',
        `${file} cannot be changed here, because its objects share parts (YAML anchors) or the file is damaged: edit ${file} in a text editor`,
      );
    }
    await this.#write(file, after);
  }

  async #create(desired: DesiredObject): Promise<string> {
    const { kind, metadata } = desired;
    const names = [[metadata.name], [metadata.namespace, metadata.name]];
    const content = newManifest(desired, false);
    for (const parts of names) {
      const file = `${[kind.toLowerCase(), ...parts].join('-')}.yaml`;
      try {
        await replaceFile(join(this.#folder.path, file), content, { mode: MANIFEST_MODE, exclusive: true });
        return file;
      } catch (error) {
        // Another file has this name, so the next name is tried.
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw this.#refusal(file, error);
      }
    }
    throw new SourceError(
      'Conflict',
      `the files for ${kind} "${metadata.name}" already exist and contain other objects: rename these files, or choose another name`,
    );
  }

  async #write(file: string, content: string): Promise<void> {
    // If the path is a link, the link is preserved.
    const path = await this.#io(file, realpath(join(this.#folder.path, file)));
    const { mode } = await this.#io(file, stat(path));
    await this.#io(file, replaceFile(path, content, { mode: mode & 0o777 }));
  }

  #read(file: string): Promise<string> {
    return this.#io(file, this.#folder.read(file));
  }

  async #io<T>(file: string, call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw this.#refusal(file, error);
    }
  }

  #refusal(file: string, error: unknown): SourceError {
    const { code } = error as NodeJS.ErrnoException;
    const kind = code === 'EACCES' || code === 'EPERM' || code === 'EROFS' ? 'Forbidden' : 'Unavailable';
    return new SourceError(kind, `cannot write ${file} in ${this.#folder.path}: ${code ?? String(error)}`, {
      cause: error,
    });
  }
}
