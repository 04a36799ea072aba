import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseManifest } from './manifest.ts';

/** A file in crds/testdata, which contains an object and the problems that the object must produce. */
export interface Fixture {
  /** The file name without `.yaml`. */
  readonly name: string;
  readonly object: Readonly<Record<string, unknown>>;
  /** The problems from the comments at the top of the file, in the form `# PATH: MESSAGE`. The actual message may be longer. */
  readonly expected: readonly { readonly path: string; readonly message: string }[];
}

const FOLDER = path.join(import.meta.dirname, '../testdata');

/** Reads all fixtures that the schemas must accept, or all that they must reject. */
export const fixtures = (which: 'accepted' | 'refused'): Fixture[] =>
  readdirSync(path.join(FOLDER, which)).map((file) => {
    const text = readFileSync(path.join(FOLDER, which, file), 'utf8');
    const { documents, problems } = parseManifest(text);
    const [document] = documents;
    if (document === undefined || documents.length !== 1 || problems.length > 0)
      throw new Error(`${file}: must contain exactly one object`);
    const expected = [...text.matchAll(/^# ([^:]+): (.*)$/gm)].map(([, where = '', message = '']) => ({
      path: where,
      message,
    }));
    return { name: path.basename(file, '.yaml'), object: document.value as Record<string, unknown>, expected };
  });
