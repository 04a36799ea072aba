import js from '@eslint/js';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';
import { ownMembers } from './test/suite/own-members.js';

export default tseslint.config(
  { ignores: ['**/node_modules/', 'coverage/', '.standin/', 'dashboard/build/', 'docs/.vitepress/build/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // Numbers and booleans are readable in a message without a conversion.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ExportDefaultDeclaration',
          message: 'Use a named export: only config files and Remix routes have default exports.',
        },
        {
          selector: 'ObjectExpression > SpreadElement > ObjectExpression',
          message: 'Write the properties into the object itself, one a line.',
        },
      ],
      eqeqeq: 'error',
      'max-params': ['error', 4],
      'max-depth': ['error', 4],
    },
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    ignores: ['test/**', '**/*.test.ts', '**/*.testing.ts'],
    plugins: { standin: { rules: { 'own-members': ownMembers } } },
    rules: { 'standin/own-members': 'error' },
  },
  {
    files: ['dashboard/app/**/*.{ts,tsx}'],
    extends: [reactHooks.configs.flat['recommended-latest']],
    rules: {
      'react-hooks/exhaustive-deps': 'error',
      // Reports libraries that the React Compiler cannot memoize, such as TanStack Virtual. The build does not run that compiler.
      'react-hooks/incompatible-library': 'off',
    },
  },
  {
    files: ['dashboard/app/**', 'dashboard/src/pages/*.ts', 'dashboard/src/signed-in-backend.ts'],
    rules: {
      // A Remix loader can end early by throwing a response.
      '@typescript-eslint/only-throw-error': [
        'error',
        {
          allow: [
            { from: 'lib', name: 'Response' },
            { from: 'package', package: '@remix-run/server-runtime', name: 'TypedResponse' },
          ],
        },
      ],
    },
  },
  {
    // Config files, and the modules whose default export Remix or vitest uses.
    files: [
      '**/*.config.ts',
      '**/*.config.js',
      'docs/.vitepress/config.ts',
      'dashboard/app/routes/**',
      'dashboard/app/{root,entry.client,entry.server}.tsx',
      'dashboard/app/routes.ts',
      'test/suite/results-reporter.ts',
    ],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['**/*.js'],
    languageOptions: {
      globals: { console: 'readonly', URL: 'readonly', setInterval: 'readonly', clearInterval: 'readonly' },
    },
  },
);
