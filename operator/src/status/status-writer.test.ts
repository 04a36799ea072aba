import type { ResourceObject } from '@standin/contract';
import { beforeEach, describe, expect, test } from 'vitest';
import { MemorySource } from '../memory-source.testing.ts';
import { statusDifference, StatusWriter } from './status-writer.ts';

test.each([
  ['nothing', { a: 1, b: [{ c: 2 }] }, { a: 1, b: [{ c: 2 }] }, undefined],
  ['a new field', {}, { a: 1 }, { a: 1 }],
  ['a changed field', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 2 }],
  ['a null for a removed field', { a: 1 }, { a: undefined }, { a: null }],
  ['nothing for a removed field that does not exist', {}, { a: undefined, constructor: undefined }, undefined],
  ['the whole list if an item differs', { a: [1, 2] }, { a: [1] }, { a: [1] }],
  ['only the changed field of an object', { a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
  ['an object that replaces a different type', { a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
  ['nothing for fields that other clients wrote', { a: { b: 1, theirs: 2 }, theirs: 3 }, { a: { b: 1 } }, undefined],
])('the patch contains %s', (_what, before, desired, patch) => {
  expect(statusDifference(before, desired)).toEqual(patch);
});

describe('a status of any kind', () => {
  let source: MemorySource;
  let writer: StatusWriter;
  /** The source's view, which lags behind the writes. */
  let seen: ResourceObject;

  beforeEach(() => {
    source = new MemorySource();
    writer = new StatusWriter(source.objects);
    seen = source.put('Share', 's', { a: 1 });
  });

  test('is written if it differs from the newest known version', async () => {
    expect(writer.newest(seen)).toBe(seen);
    expect(await writer.write(seen, { phase: 'One' })).toBe('written');
    expect(writer.newest(seen)).toMatchObject({ spec: { a: 1 }, status: { phase: 'One' } });
    expect(await writer.write(writer.newest(seen), { phase: 'One' })).toBe('unchanged');
    expect(await writer.write(writer.newest(seen), { phase: 'Two' })).toBe('written');
    expect(source.object('Share', 's').status).toEqual({ phase: 'Two' });
  });

  test('is not written if the object was changed, deleted or replaced', async () => {
    const changed = source.put('Share', 's', { a: 2 });
    expect(await writer.write(seen, { phase: 'One' })).toBe('outdated');
    source.remove('Share', 's');
    expect(await writer.write(changed, { phase: 'One' })).toBe('outdated');
    source.put('Share', 's', { a: 2 });
    expect(await writer.write(changed, { phase: 'One' })).toBe('outdated');
    expect(source.statusWrites).toEqual([]);
  });

  test('is remembered until the source reports a newer version, or the object is deleted', async () => {
    await writer.write(seen, { phase: 'One' });
    const newer = source.put('Share', 's', { a: 2 });
    expect(writer.newest(newer)).toBe(newer);
    expect(writer.newest(seen)).toBe(seen);
    await writer.write(newer, { phase: 'Two' });
    writer.forget(newer.metadata.uid);
    expect(writer.newest(newer)).toBe(newer);
  });
});
