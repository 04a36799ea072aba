import { fileGraph } from './import-cycles.ts';
import { hashInputs } from './passed-inputs.ts';
import { isCode, type SourceFile } from './source-files.ts';

/**
 * Maps each code file to a hash of everything that ESLint's findings in it depend on: its text, all that it imports, directly or
 * indirectly, also as types, and what affects all files.
 */
export const lintInputs = (files: readonly SourceFile[]): ReadonlyMap<string, string> => {
  const common = [process.version, ...files.filter(affectsAll).flatMap(({ path: file, text }) => [file, text])];
  const commonHash = hashInputs(common);
  const hashes = new Map(files.map(({ path: file, text }) => [file, hashInputs([file, text])]));
  const imports = fileGraph(files);
  return new Map(
    files.filter(isCode).map(({ path: file }) => {
      const reached = new Set([file]);
      // The loop also visits the files that it adds.
      for (const next of reached) for (const imported of imports.get(next) ?? []) reached.add(imported);
      const read = [...reached].map((each) => hashes.get(each) ?? '').sort();
      return [file, hashInputs([commonHash, hashes.get(file) ?? '', ...read])];
    }),
  );
};

/** Returns whether a file configures ESLint, TypeScript or packages, or declares types for all files. */
const affectsAll = (file: SourceFile): boolean =>
  /(^|\/)(package|package-lock|tsconfig)\.json$|^eslint\.config\.js$|\.d\.ts$/.test(file.path) ||
  (isCode(file) && /^\s*declare (module|global)\b/m.test(file.text));
