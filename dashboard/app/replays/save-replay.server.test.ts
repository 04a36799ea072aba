import { expect, it } from 'vitest';
import type { Backend } from '../../src/backend.ts';
import { createReplay } from './save-replay.server.ts';
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
