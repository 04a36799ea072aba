import { expect, it } from 'vitest';
import { previewShare } from './share-dialog.server.ts';

type Context = Parameters<typeof previewShare>[0];

it('a problem with a rule names its line, counting blank lines', async () => {
  const form = new FormData();
  form.set('spec.redact.jsonPaths', '\r\n$.card\r\n\r\n$.card[*\r\n');
  const request = { namespace: 'team-a', project: 'shop', id: '01890000-0000-7000-8000-000000000000' };
  // Rules with a problem are rejected before anything is read.
  const answer = await previewShare({} as Context, request, form);
  expect(answer).toMatchObject({
    kind: 'refused',
    fields: { 'spec.redact.jsonPaths': [expect.stringMatching(/^Line 4 must be a path such as/)] },
  });
});
