import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONDITION_REASONS, CONDITION_TYPES } from './conditions.ts';

const page = readFileSync(path.join(import.meta.dirname, '../../../docs/reference/conditions.md'), 'utf8');
const [types = '', reasons = ''] = page.split('\n## Reasons\n');
/** Returns the name of every item in a section's lists. */
const names = (section: string): string[] => [...section.matchAll(/^- \*\*`(\w+)`\*\*/gm)].map(([, name = '']) => name);

describe('docs/reference/conditions.md', () => {
  it('explains every type and no others', () => {
    expect(names(types)).toEqual([...CONDITION_TYPES]);
  });

  it('explains every reason once, in the order of the code, and no others', () => {
    expect(names(reasons)).toEqual([...CONDITION_REASONS]);
  });
});
