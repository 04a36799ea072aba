import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A text file of the checkout. */
export interface SourceFile {
  /** The path relative to the checkout's root, with `/`. */
  readonly path: string;
  readonly text: string;
}

export const ROOT = path.join(import.meta.dirname, '../..');

/** Third-party, generated or temporary folders. */
const EXCLUDED = new Set(['node_modules', '.git', '.standin', '.results', 'coverage', 'build', '.DS_Store']);
const TEXT_FILE = /(^|\/)(\.[a-z]+|[^.]+|.*\.(ts|tsx|js|json|go|mod|sum|md|yaml|yml|sql|sh|html|css|toml))$/;

/** Returns every text file of the checkout, tracked or untracked. */
export const sourceFiles = (): readonly SourceFile[] =>
  globSync('**/*', { cwd: ROOT, withFileTypes: true, exclude: (entry) => EXCLUDED.has(entry.name) })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .filter((file) => TEXT_FILE.test(file))
    .sort()
    .map((file) => ({ path: file, text: readFileSync(path.join(ROOT, file), 'utf8') }));

export const isCode = ({ path: file }: SourceFile): boolean => /\.(ts|tsx|js)$/.test(file);
