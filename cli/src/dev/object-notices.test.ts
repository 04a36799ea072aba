import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Condition, ConditionReason } from '@standin/contract';
import type { DevOutput, ObjectNotice } from './dev-output.ts';
import { fieldPlace, objectNotices } from './object-notices.ts';

describe('the line of a field', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'standin-test-notices-'));
    await writeFile(
      path.join(dir, 'two.yaml'),
      'kind: Account\nspec: {}\n---\n# a comment\nkind: Endpoint\nspec:\n  slug: a\n  json:\n    headers:\n      - name: a\n      - name: b c\n  display-name: x\n',
    );
  });
  afterAll(() => rm(dir, { recursive: true }));

  test.each([
    ['spec.slug: must begin with /.', 'two.yaml:5', 'two.yaml:7'],
    ['spec.json.headers[1].name: must be a token.', 'two.yaml:5', 'two.yaml:11'],
    ['spec.display-name: unknown field.', 'two.yaml:5', 'two.yaml:12'],
    ['spec.method: Required value.', 'two.yaml:5', 'two.yaml:7'],
    ['The project has no key.', 'two.yaml:5', 'two.yaml:5'],
    ['spec.slug: but the file has changed.', 'two.yaml:4', 'two.yaml:4'],
    ['spec.slug: but the file is gone.', 'gone.yaml:3', 'gone.yaml:3'],
  ])('%s', (message, start, expected) => {
    expect(fieldPlace(dir, start, message)).toBe(expected);
  });
});

describe('notices of objects', () => {
  const ref = { kind: 'Endpoint', namespace: 'default', name: 'a' } as const;
  const setUp = () => {
    const shown: string[] = [];
    const notice = ({ state, where, url = '', message }: ObjectNotice): void => {
      shown.push([state, where, state === 'not ready' ? message : url].filter(Boolean).join(' '));
    };
    const notices = objectNotices({ notice } as unknown as DevOutput, () => 'a.yaml:1');
    const status = (reason: ConditionReason, message: string, { generation = 1, wrote = true } = {}): void => {
      const ready = reason === 'Ready';
      const condition = { type: 'Ready', reason, message, observedGeneration: generation } as Condition;
      notices.onStatus({ uid: 'u', ref, conditions: [condition], ready, url: 'http://localhost/a', wrote });
    };
    return { shown, status, notices };
  };

  test('all conditions that say what to correct are reported', () => {
    const { shown, notices } = setUp();
    const condition = (type: Condition['type'], reason: ConditionReason, message: string): Condition => ({
      type,
      status: 'False',
      reason,
      message,
      observedGeneration: 1,
      lastTransitionTime: '',
    });
    const report = (resolvedRefs: Condition): void => {
      const accepted = condition('Accepted', 'Invalid', 'spec.json.body: is not JSON.');
      const conditions = [accepted, resolvedRefs, condition('Ready', 'Invalid', accepted.message)];
      notices.onStatus({ uid: 'u', ref, conditions, ready: false, wrote: true });
    };
    report(condition('ResolvedRefs', 'ProjectNotFound', 'There is no Project shopp.'));
    report(condition('ResolvedRefs', 'Invalid', 'Not checked.'));
    report(condition('ResolvedRefs', 'ProjectNotReady', 'Its project is not ready.'));
    expect(shown).toEqual([
      'not ready a.yaml:1 spec.json.body: is not JSON. There is no Project shopp.',
      'not ready a.yaml:1 spec.json.body: is not JSON.',
    ]);
  });

  test('each change is reported once, but temporary states and problems with other objects are not', () => {
    const { shown, status } = setUp();
    status('NotProgrammed', 'on its way');
    status('Ready', 'live');
    status('Ready', 'live');
    status('Invalid', 'x', { generation: 2 });
    status('Invalid', 'x', { generation: 3 });
    status('ProjectNotReady', 'its project is not');
    status('Ready', 'live', { generation: 4 });
    expect(shown).toEqual(['live http://localhost/a', 'not ready a.yaml:1 x', 'live http://localhost/a']);
  });

  test('at startup, objects that are not ready are reported again, but ready ones are not', () => {
    const { shown, status } = setUp();
    status('Ready', 'live', { wrote: false });
    status('Invalid', 'x', { generation: 2, wrote: false });
    expect(shown).toEqual(['not ready a.yaml:1 x']);
  });

  test('an object that is created again is reported', () => {
    const { shown, status, notices } = setUp();
    status('Ready', 'live');
    const metadata = { ...ref, uid: 'u', generation: 1, resourceVersion: '1', creationTimestamp: '' };
    notices.onRemoved({ apiVersion: '', kind: 'Endpoint', metadata, spec: {} });
    status('Ready', 'live');
    expect(shown).toEqual(['live http://localhost/a', 'gone', 'live http://localhost/a']);
  });
});
