import { ESLint } from 'eslint';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './suite/source-files.ts';

/** Returns the lines that the rule reports. */
const reported = async (code: string): Promise<number[]> => {
  const eslint = new ESLint({ cwd: ROOT });
  const filePath = path.join(ROOT, 'packages/contract/src/own-member.ts');
  const [result] = await eslint.lintText(code, { filePath });
  return (result?.messages ?? []).filter(({ ruleId }) => ruleId === 'standin/own-members').map(({ line }) => line);
};

test('members that text selects are found, and no others', { timeout: 120_000 }, async () => {
  const found = [
    'table[text];',
    'table[`${text}`];',
    'parsed[text];',
    "fixed[text as 'a'];",
    'table[text] = 1;',
    'text in table;',
    'const { [text]: picked } = table;',
    "Object.hasOwn(table, 'a') ? table[text] : 1;",
  ];
  const accepted = [
    "table['a'];",
    'table[kind];',
    'table[`${text}.crt`];',
    'fixed[kind];',
    "'a' in table;",
    'list[0];',
    'list[list.length - 1];',
    'bytes[0];',
    'Object.hasOwn(table, text) ? table[text] : undefined;',
    'if (Object.hasOwn(table, text)) use(table[text]);',
    'Object.hasOwn(table, text) && table[text] === 1;',
    'map.get(text);',
  ];
  const declarations = [
    'declare const text: string;',
    "declare const kind: 'a' | 'b';",
    'declare const table: Record<string, number>;',
    'declare const parsed: { readonly [name: string]: unknown };',
    'declare const fixed: { a: number; b: number };',
    'declare const list: string[];',
    'declare const bytes: Uint8Array;',
    'declare const map: Map<string, number>;',
    'declare const use: (value: unknown) => void;',
  ];
  const lines = await reported([...declarations, ...found, ...accepted].join('\n'));
  expect(lines.map((line) => line - declarations.length - 1)).toEqual(found.map((_, index) => index));
});
