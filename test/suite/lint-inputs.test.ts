import { describe, expect, it } from 'vitest';
import { lintInputs } from './lint-inputs.ts';

const FILES: Readonly<Record<string, string>> = {
  'eslint.config.js': "import { rule } from './test/suite/rule.js';",
  'test/suite/rule.js': '',
  'package-lock.json': '{}',
  'packages/contract/package.json': '{ "name": "@standin/contract", "exports": { ".": "./src/index.ts" } }',
  'packages/contract/src/index.ts': "export type { Port } from './port.ts';",
  'packages/contract/src/port.ts': 'export interface Port { send(): void }',
  'gateway/src/main.ts': "import type { Port } from '@standin/contract';",
  'gateway/src/types.ts': "export type Port = import('../../packages/contract/src/port.ts').Port;",
  'gateway/src/other.ts': '',
  'gateway/src/task-meta.ts': "declare module 'vitest' {}",
  'README.md': '',
};

/** Returns the files that ESLint checks again if one file has a new text. */
const checkedAgain = (changed: string): readonly string[] => {
  const before = lintInputs(Object.entries(FILES).map(([path, text]) => ({ path, text })));
  const texts = { ...FILES, [changed]: `${FILES[changed] ?? ''} ` };
  const after = lintInputs(Object.entries(texts).map(([path, text]) => ({ path, text })));
  return [...after].filter(([file, hash]) => before.get(file) !== hash).map(([file]) => file);
};

describe('the inputs of lint', () => {
  it('include types that a file imports indirectly', () => {
    expect(checkedAgain('packages/contract/src/port.ts').toSorted()).toEqual([
      ...['gateway/src/main.ts', 'gateway/src/types.ts'],
      ...['packages/contract/src/index.ts', 'packages/contract/src/port.ts'],
    ]);
  });

  it('do not include other files', () => {
    expect(checkedAgain('gateway/src/other.ts')).toEqual(['gateway/src/other.ts']);
    expect(checkedAgain('README.md')).toEqual([]);
  });

  it.each([
    'eslint.config.js',
    'test/suite/rule.js',
    'package-lock.json',
    'packages/contract/package.json',
    'gateway/src/task-meta.ts',
  ])('include %s in every file', (changed) => {
    const code = Object.keys(FILES).filter((file) => /\.[jt]s$/.test(file));
    expect(checkedAgain(changed).toSorted()).toEqual(code.toSorted());
  });
});
