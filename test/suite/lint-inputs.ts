import { fileGraph } from './import-cycles.ts';
import { hashInputs } from './passed-inputs.ts';
import { isCode, type SourceFile } from './source-files.ts';

const CONFIG = 'eslint.config.js';

/**
 * Maps each code file to a hash of everything that ESLint's findings in it depend on: its text, all that it imports, directly or
 * indirectly, also as types, and what affects all files.
 */
export const lintInputs = (files: readonly SourceFile[]): ReadonlyMap<string, string> => {
  const hashes = new Map(files.map(({ path: file, text }) => [file, hashInputs([file, text])]));
  const imports = fileGraph(files);
  const hashesFrom = (roots: readonly string[]): readonly string[] => {
    const reached = new Set(roots);
    // The loop also visits the files that it adds.
    for (const next of reached) for (const imported of imports.get(next) ?? []) reached.add(imported);
    return [...reached].map((each) => hashes.get(each) ?? '').sort();
  };
  const commonFiles = files.filter(affectsAll).map(({ path: file }) => file);
  // ESLint's configuration imports rules.
  const common = [...commonFiles.map((file) => hashes.get(file) ?? ''), ...hashesFrom([CONFIG])];
  const commonHash = hashInputs([process.version, ...common]);
  return new Map(
    files
      .filter(isCode)
      .map(({ path: file }) => [file, hashInputs([commonHash, hashes.get(file) ?? '', ...hashesFrom([file])])]),
  );
};

/** Returns whether a file configures TypeScript or packages, or declares types for all files. */
const affectsAll = (file: SourceFile): boolean =>
  /(^|\/)(package|package-lock|tsconfig)\.json$|\.d\.ts$/.test(file.path) ||
  (isCode(file) && /^\s*declare (module|global)\b/m.test(file.text));
