import { expect, it } from 'vitest';
import type { Backend } from '../../src/backend.ts';
import { createReplay } from './save-replay.server.ts';
import { readReplayValues, toReplay, type CapturedView } from './replay-values.ts';

const captured: CapturedView = {
  ...{ id: '01890000-0000-7000-8000-000000000000', method: 'GET', target: '/', headers: [] },
  ...{ bodyBytes: 0, body: '', bodyEncoding: 'utf8' },
};

/** An API server that rejects the header at `index`. */
const refusing = (index: number): Backend => {
  const problems = [{ path: `spec.edit.headers[${index}].name`, message: 'must be an HTTP token' }];
  const resources = { apply: () => Promise.resolve({ ok: false, problems }) };
  return { resources } as unknown as Backend;
};

it.each([
  ['a: b\nno colon', 1, 2],
  ['a: b\n\n \nno colon', 1, 4],
  ['\r\n\r\nno colon\r\n', 0, 3],
])('a problem with a header names its line, counting blank lines: %j', async (text, index, line) => {
  const form = new FormData();
  form.set('spec.edit.headers', text);
  const values = readReplayValues(form);
  const object = toReplay(values, captured, { namespace: 'team-a', project: 'shop', name: 'replay-1' });
  const { errors } = await createReplay(refusing(index), object, values);
  expect(errors).toEqual({ fields: { 'spec.edit.headers': [`Line ${line}: must be an HTTP token`] }, form: [] });
});
