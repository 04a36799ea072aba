import path from 'node:path';
import ts from 'typescript';
import { isTypeOnly, moduleImports } from './module-imports.ts';
import { isCode, type SourceFile } from './source-files.ts';

/** Which files may read which: the text of each code file, as imports and as names of files and folders. */
export interface References {
  /** Maps a file or folder to the files that load it, or that have its path in a string. Empty if only types are imported. */
  readonly byPath: ReadonlyMap<string, ReadonlySet<string>>;
  /** Maps a file name to the files that have a path with that name in a string. */
  readonly byName: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Returns the references between files. `known` are the paths of all files, including deleted ones.
 *
 * A test does not import the process that it starts: `startProcess({ main: 'gateway/src/main.ts' })`. It does not import charts,
 * manifests, pages and golden files either. Therefore each string counts as a path if it leads to a file or folder, from the folder
 * of the file that contains it or from a folder above. The files in the root configure tools, and are not code of a test.
 */
export const findReferences = (files: readonly SourceFile[], known: ReadonlySet<string>): References => {
  const entries = packageEntries(files);
  const folders = new Set([...known].flatMap(foldersAbove));
  const byPath = new Map<string, Set<string>>();
  const byName = new Map<string, Set<string>>();
  for (const file of files.filter((candidate) => isCode(candidate) && candidate.path.includes('/'))) {
    for (const text of stringsIn(file)) {
      const entry = entries.get(text);
      for (const word of entry === undefined ? pathsIn(text) : [entry]) {
        addTo(byName, path.posix.basename(word), file.path);
        const target = resolve(word, file.path, (candidate) => known.has(candidate) || folders.has(candidate));
        if (target !== undefined && target !== file.path) addTo(byPath, target, file.path);
      }
    }
    for (const { specifier } of moduleImports(file.path, file.text).filter(({ isTypeOnly: isType }) => isType)) {
      const target = path.posix.join(path.posix.dirname(file.path), specifier);
      if (!byPath.has(target)) byPath.set(target, new Set());
    }
  }
  return { byPath, byName };
};

/** Returns the folders that contain a path, from the inner to the outer one, without the root. */
export const foldersAbove = (file: string): readonly string[] => {
  const folder = path.posix.dirname(file);
  return folder === '.' ? [] : [folder, ...foldersAbove(folder)];
};

const addTo = (map: Map<string, Set<string>>, key: string, value: string): void => {
  map.set(key, (map.get(key) ?? new Set<string>()).add(value));
};

/** Maps each specifier of a workspace, such as `@standin/egress/replay`, to its file. */
export const packageEntries = (files: readonly SourceFile[]): ReadonlyMap<string, string> => {
  const manifests = files.filter(({ path: file }) => path.posix.basename(file) === 'package.json');
  return new Map(
    manifests.flatMap(({ path: file, text }) => {
      const { name = '', exports = {} } = JSON.parse(text) as {
        name?: string;
        exports?: string | Record<string, string>;
      };
      const entries = Object.entries(typeof exports === 'string' ? { '.': exports } : exports);
      return entries.map(([key, target]) => [
        path.posix.join(name, key),
        path.posix.join(path.posix.dirname(file), target),
      ]);
    }),
  );
};

/** Matches a call that joins words to a folder of the checkout, and not to a folder that the code creates. */
const FIXED_PATH = /^path\.(posix\.)?(join|resolve)\((import\.meta\.dirname|[A-Z][A-Z_]*)\b/;

/** Returns the strings of a file, including import specifiers and the constant parts of templates. */
const stringsIn = ({ path: file, text }: SourceFile): ReadonlySet<string> => {
  const strings = new Set<string>();
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && isTypeOnly(node)) return;
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      strings.add(node.text);
    ts.forEachChild(node, visit);
    // A word without a slash or a dot is a path only in a call such as `path.join(ROOT, 'crds', 'examples')`.
    if (ts.isCallExpression(node) && FIXED_PATH.test(node.getText(source))) {
      const parts = node.arguments.filter((part) => ts.isStringLiteralLike(part)).map(({ text: part }) => part);
      strings.add(`./${parts.join('/')}`);
    }
  };
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  visit(source);
  return strings;
};

/** Returns what may be a path in a string: a word with a slash or a dot, up to the first character of a pattern. */
const pathsIn = (text: string): readonly string[] =>
  text
    .split(/[\s'"`=,;:()<>|]+/)
    .map((word) => word.replace(/^~\//, 'dashboard/app/').replace(/^\/+/, ''))
    .map((word) => (/[*?{[$]/.test(word) ? word.replace(/[^/]*[*?{[$].*$/, '') : word))
    // `..` alone is a step of a path whose other parts are elsewhere.
    .filter((word) => /[/.]/.test(word) && /[^./]/.test(word))
    .map((word) => word.replace(/\/+$/, ''));

/** Returns the first file or folder to which a word leads, from the folder of the file and then from each folder above. */
const resolve = (word: string, file: string, exists: (candidate: string) => boolean): string | undefined =>
  [...foldersAbove(file), '.'].map((base) => path.posix.join(base, word)).find(exists);
