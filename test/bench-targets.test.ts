import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { TARGETS } from './bench/targets.ts';

const README = readFileSync(path.join(import.meta.dirname, 'bench/README.md'), 'utf8');

test('the list of benchmarks has each benchmark with the figures of its targets', () => {
  const items = [...README.matchAll(/^- \*\*`(\w+)`\*\*: (.*?)(?=\n- \*\*|\n\n)/gms)].map(
    ([, name = '', text = '']) => [
      name,
      [...text.matchAll(/([≤≥]) ([\d.,]+\d|\d)/g)].map(([, sign, figure = '']) => [
        sign,
        Number(figure.replace(',', '')),
      ]),
    ],
  );
  const expected = Object.entries(TARGETS).map(([name, targets]) => [
    name,
    Object.entries(targets).map(([target, figure]) => [target.endsWith('Min') ? '≥' : '≤', figure]),
  ]);
  expect(items).toEqual(expected);
});
