import type { ResourceObject } from '@standin/contract';
import { expect, test } from 'vitest';
import { checkExpected, readVersion, versionText } from './expected-version.ts';

const REF = { kind: 'Endpoint', namespace: 'default', name: 'a' } as const;
const object = (uid: string, generation: number) =>
  ({ metadata: { namespace: 'default', name: 'a', uid, generation } }) as ResourceObject;
const opened = readVersion(versionText(object('first', 1)));

test('a change is based on one version of one object', () => {
  expect(() => checkExpected(object('first', 1), opened, REF)).not.toThrow();
  expect(() => checkExpected(object('first', 2), opened, REF)).toThrow('is now at generation 2');
  expect(() => checkExpected(undefined, opened, REF)).toThrow('does not exist');
});

test('an object that was deleted and created again is another one, although its generations start again', () => {
  expect(() => checkExpected(object('second', 1), opened, REF)).toThrow('was deleted and created again');
});

test.each(['', '1', '1/', '/first', '-1/first', 'first', '1e3/first'])('no object has the version %j', (text) => {
  expect(() => checkExpected(object('first', 1), readVersion(text), REF)).toThrow();
});
