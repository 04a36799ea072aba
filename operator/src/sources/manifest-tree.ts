import type { SourceProblem } from '@standin/contract';
import {
  EMPTY_CONTENT,
  type ManifestConfigMap,
  type ManifestContent,
  type ManifestObject,
  type ManifestSecret,
} from './manifest-objects.ts';

/** The current content of one file, and its last valid objects. */
interface ManifestFile {
  readonly content: ManifestContent;
  /** Objects of the last valid version that the broken file no longer contains. */
  readonly kept: readonly ManifestObject[];
  readonly keptSecrets: readonly ManifestSecret[];
  readonly keptConfigMaps: readonly ManifestConfigMap[];
}

export interface DesiredTree {
  /** Ordered by file and by position in the file. Those of the last valid version of a broken file follow. */
  readonly objects: ReadonlyMap<string, ManifestObject>;
  readonly secrets: ReadonlyMap<string, ManifestSecret>;
  readonly configMaps: ReadonlyMap<string, ManifestConfigMap>;
  readonly problems: readonly SourceProblem[];
}

type ManifestItem = ManifestObject | ManifestSecret | ManifestConfigMap;

/** Adds the items with new keys. Returns their number. */
const keep = <T extends ManifestItem>(into: Map<string, T>, items: readonly T[]): number => {
  const missing = items.filter(({ key }) => !into.has(key));
  for (const item of missing) into.set(item.key, item);
  return missing.length;
};

const missingFrom = <T extends { readonly key: string }>(before: readonly T[], now: readonly T[]): T[] => {
  const keys = new Set(now.map(({ key }) => key));
  return before.filter(({ key }) => !keys.has(key));
};

/**
 * The manifests in a directory, file by file. This class does no I/O, because callers pass the content of files. A broken file
 * keeps its last valid objects until it is fixed or removed, except those that another file has now. If two objects have the same name, the object in the first file, by
 * name, is active.
 */
export class ManifestTree {
  readonly #files = new Map<string, ManifestFile>();

  get files(): { has(file: string): boolean; [Symbol.iterator](): IterableIterator<string> } {
    return { has: (file) => this.#files.has(file), [Symbol.iterator]: () => this.#files.keys() };
  }

  containingFile(object: ManifestItem): string {
    return object.where.slice(0, object.where.lastIndexOf(':'));
  }

  isBroken(file: string): boolean {
    return this.#files.get(file)?.content.broken ?? false;
  }

  put(file: string, content: ManifestContent): void {
    const before = content.broken ? this.#files.get(file) : undefined;
    const held = before === undefined ? [] : [...before.content.objects, ...before.kept];
    const heldSecrets = before === undefined ? [] : [...before.content.secrets, ...before.keptSecrets];
    const heldConfigMaps = before === undefined ? [] : [...before.content.configMaps, ...before.keptConfigMaps];
    this.#files.set(file, {
      content,
      kept: missingFrom(held, content.objects),
      keptSecrets: missingFrom(heldSecrets, content.secrets),
      keptConfigMaps: missingFrom(heldConfigMaps, content.configMaps),
    });
  }

  /** Records that an existing file cannot be read. Like a broken file, it keeps its last valid objects. */
  putUnreadable(file: string, problem: SourceProblem): void {
    this.put(file, { ...EMPTY_CONTENT, problems: [problem], broken: true });
  }

  /** Removes a file. Returns true if it existed. */
  remove(file: string): boolean {
    return this.#files.delete(file);
  }

  /** Returns the active objects from all files. */
  desired(): DesiredTree {
    const objects = new Map<string, ManifestObject>();
    const secrets = new Map<string, ManifestSecret>();
    const configMaps = new Map<string, ManifestConfigMap>();
    const problems: SourceProblem[] = [];
    const add = <T extends ManifestItem>(into: Map<string, T>, item: T): void => {
      const first = into.get(item.key);
      if (first === undefined) into.set(item.key, item);
      else
        problems.push({
          where: item.where,
          message: `${item.key} is already in ${first.where}; remove one of them`,
        });
    };
    const files = [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, file]) => file);
    for (const { content } of files) {
      for (const object of content.objects) add(objects, object);
      for (const secret of content.secrets) add(secrets, secret);
      for (const configMap of content.configMaps) add(configMaps, configMap);
    }
    for (const { content, kept, keptSecrets, keptConfigMaps } of files) {
      const held = keep(objects, kept) + keep(secrets, keptSecrets) + keep(configMaps, keptConfigMaps);
      const note = held === 0 ? '' : `; ${held} object(s) keep their last valid version until this is fixed`;
      for (const [index, problem] of content.problems.entries()) {
        // The first problem of a broken file is the problem that broke the file.
        problems.push(index === 0 ? { ...problem, message: problem.message + note } : problem);
      }
    }
    return { objects, secrets, configMaps, problems };
  }
}
