import { SourceError } from '@standin/contract';
import { expect, it } from 'vitest';
import type { Backend } from '../../src/backend.ts';
import { replayObject } from '../../src/replays/replay-object.ts';
import { UnsentError } from '../../src/unsent-error.ts';
import { NO_ERRORS } from '../ui/form-errors.ts';
import { createReplay, submittedReplayName } from './save-replay.server.ts';
import { SUBMISSION } from './submission.tsx';
import { readReplayValues, toReplay, type CapturedView } from './replay-values.ts';

const captured: CapturedView = {
  id: '01890000-0000-7000-8000-000000000000',
  method: 'GET',
  target: '/',
  headers: [],
  bodyBytes: 0,
  body: '',
  bodyEncoding: 'utf8',
};

/** An API server that rejects the header at `index`. */
const refusing = (index: number): Backend => {
  const problems = [{ path: `spec.edit.headers[${index}].name`, message: 'must be an HTTP token' }];
  const resources = { apply: () => Promise.resolve({ ok: false, problems }) };
  return { resources } as unknown as Backend;
};

it.each([
  ['a: b\nc d: e', 1, 'Line 2: must be an HTTP token'],
  ['a: b\n\n \nc d: e', 1, 'Line 4: must be an HTTP token'],
  ['\r\n\r\nc d: e\r\n', 0, 'Line 3: must be an HTTP token'],
  ['a: b\nno colon', 1, 'Line 2: must have the form name: value'],
])('a problem with a header names its line, counting blank lines: %j', async (text, index, message) => {
  const form = new FormData();
  form.set('spec.edit.headers', text);
  const values = readReplayValues(form);
  const object = toReplay(values, captured, { namespace: 'team-a', project: 'shop', name: 'replay-1' });
  const { errors } = await createReplay(refusing(index), object, values);
  expect(errors).toEqual({ fields: { 'spec.edit.headers': [message] }, form: [] });
});

it.each<[string, SourceError, boolean]>([
  ['was refused before it was sent', new UnsentError(new SourceError('Unavailable', 'busy')), false],
  ['got no response', new SourceError('Unavailable', 'no response'), true],
  ['conflicts with a Replay that the user may not read', new SourceError('Conflict', 'already exists'), true],
])('whether anything was sent is known if the Replay %s', async (_, error, isUnknown) => {
  const resources = {
    apply: () => Promise.reject(error),
    get: () => Promise.reject(new SourceError('Forbidden', 'create only')),
  };
  const object = replayObject({ namespace: 'team-a', project: 'shop', name: 'replay-1' }, {});
  const saved = await createReplay({ resources } as unknown as Backend, object);
  expect(saved).toMatchObject({ object: undefined, isUnknown });
  expect(saved.errors.form).toHaveLength(1);
});

it('a form that is submitted again with the same content finds the Replay that it has created', async () => {
  const form = new FormData();
  form.set(SUBMISSION, '1-2-3-4');
  const name = submittedReplayName(form, { url: 'http://a/' });
  expect(name).toMatch(/^replay-[0-9a-f]{10}$/);
  expect(submittedReplayName(form, { url: 'http://a/' })).toBe(name);
  expect(submittedReplayName(form, { url: 'http://b/' })).not.toBe(name);
  expect(submittedReplayName(new FormData(), {})).not.toBe(submittedReplayName(new FormData(), {}));

  const object = replayObject({ namespace: 'team-a', project: 'shop', name }, {});
  const resources = {
    apply: () => Promise.reject(new SourceError('Conflict', 'already exists')),
    get: (ref: { readonly name: string }) => Promise.resolve(ref.name === name ? object : undefined),
  };
  const saved = await createReplay({ resources } as unknown as Backend, object);
  expect(saved).toMatchObject({ object, errors: NO_ERRORS, isConflict: false });
});
