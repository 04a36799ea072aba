import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { GUARANTEES, proofCommand, tableRow, type ProofName } from './prove/guarantees.ts';

const PAGE = readFileSync(path.join(import.meta.dirname, '../docs/proof.md'), 'utf8');
const tableCells = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

test('docs/proof.md has the rows that `npm run prove` prints, with outputs of guarantees that held', () => {
  const [, , ...rows] = PAGE.split('\n')
    .filter((line) => line.startsWith('|'))
    .map(tableCells);
  const expected = Object.entries(GUARANTEES).flatMap(([name, guarantees]) =>
    guarantees.map((guarantee) => [guarantee, `\`${proofCommand(name as ProofName)}\``]),
  );
  expect(rows.map(([guarantee, command]) => [guarantee, command])).toEqual(expected);
  for (const [, , output] of rows) expect(output).toMatch(/^(?!\*\*).*\d/);
});

test('a row that does not hold begins with that', () => {
  expect(tableCells(tableRow('log', 'A', { output: '1 lost', holds: false }))).toEqual([
    'A',
    '`npm run prove -- log`',
    '**does not hold**: 1 lost',
  ]);
});
