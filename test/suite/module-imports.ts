import ts from 'typescript';

export interface ModuleImport {
  /** The specifier as written in the code, such as `../cluster/kubeconfig.ts`, `@standin/contract` or `node:fs`. */
  readonly specifier: string;
  /** True for `import type` and `export type`, which load nothing at run time. */
  readonly isTypeOnly: boolean;
}

/** Returns the imports of a TypeScript or JavaScript file: `import`, `export … from`, and `import('…')` as a call or a type. */
export const moduleImports = (fileName: string, text: string): readonly ModuleImport[] => {
  const imports: ModuleImport[] = [];
  const add = (node: ts.Node | undefined, isTypeOnly: boolean): void => {
    if (node !== undefined && ts.isStringLiteral(node)) imports.push({ specifier: node.text, isTypeOnly });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
      add(node.moduleSpecifier, isTypeOnly(node));
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, true);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest));
  return imports;
};

export const isTypeOnly = (node: ts.ImportDeclaration | ts.ExportDeclaration): boolean =>
  ts.isExportDeclaration(node) ? node.isTypeOnly : node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
