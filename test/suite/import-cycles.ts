import path from 'node:path';
import { moduleImports } from './module-imports.ts';
import { packageEntries } from './references.ts';
import { isCode, type SourceFile } from './source-files.ts';

/** Maps each node to the nodes that it imports. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Maps each code file to the given files that it imports by a relative path, by the dashboard's `~/`, or by the name of a workspace
 * whose package.json is given.
 */
export const fileGraph = (files: readonly SourceFile[]): ImportGraph => {
  const known = new Set(files.map((file) => file.path));
  const entries = packageEntries(files);
  return new Map(
    files.filter(isCode).map(({ path: file, text }) => {
      const imported = moduleImports(file, text)
        .map(({ specifier }) => entries.get(specifier) ?? resolve(file, specifier))
        .filter((target) => known.has(target));
      return [file, new Set(imported)];
    }),
  );
};

const resolve = (file: string, specifier: string): string => {
  if (specifier.startsWith('~/')) return `dashboard/app/${specifier.slice(2)}`;
  return specifier.startsWith('.') ? path.posix.join(path.posix.dirname(file), specifier) : '';
};

/** Maps each folder directly in `base` to the other such folders that its files import. */
export const folderGraph = (files: ImportGraph, base: string): ImportGraph => {
  const graph = new Map<string, Set<string>>();
  for (const [file, imported] of files) {
    const folder = topFolder(file, base);
    if (folder === undefined) continue;
    const targets = graph.get(folder) ?? new Set<string>();
    graph.set(folder, targets);
    for (const target of imported) {
      const other = topFolder(target, base);
      if (other !== undefined && other !== folder) targets.add(other);
    }
  }
  return graph;
};

const topFolder = (file: string, base: string): string | undefined =>
  file.startsWith(`${base}/`) ? /^([^/]+)\//.exec(file.slice(base.length + 1))?.[1] : undefined;

/** Returns groups of nodes that import each other in a cycle, each sorted (Tarjan's strongly connected components). */
export const cyclesIn = (graph: ImportGraph): readonly (readonly string[])[] => {
  const order = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (node: string): number => {
    const index = order.size;
    let low = index;
    order.set(node, index);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, order.get(next) ?? low);
    }
    if (low === index) {
      const group = stack.splice(stack.indexOf(node));
      if (group.length > 1) cycles.push(group.sort());
    }
    return low;
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return cycles;
};
