import { toLogEntry } from '@standin/exchange';
import { defaultRedaction, redact } from '@standin/exchange/redact';
import { newLogRow } from '@standin/exchange/testing';
import { expect, it } from 'vitest';
import { RULE_FIELDS } from './share-data.ts';
import { previewShare, readRules, toRuleTexts } from './share-dialog.server.ts';

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

it.each([
  'my%0Asecret',
  'client%0Dsecret',
  'secret%0D%0A',
  'pass%20',
  '%20password%20',
  '%09token',
  'voil%C3%A0secret%C2%A0',
  'sec%00ret',
])('a link from the unedited form hides the field %s', (name) => {
  const json = JSON.stringify({ [decodeURIComponent(name)]: 'hunter2-of-json' });
  const entry = toLogEntry(
    newLogRow({
      method: 'POST',
      target: `/a?${name}=hunter2-of-query`,
      query: `${name}=hunter2-of-query`,
      requestHeaders: [['content-type', 'application/json']],
      requestBody: Buffer.from(json),
    }),
  );
  const rules = defaultRedaction(entry);
  expect(JSON.stringify(redact(entry, rules))).not.toContain('hunter2');
  const form = new FormData();
  // Browsers submit line breaks as CRLF.
  const texts = toRuleTexts(rules);
  for (const field of ['headers', 'query', 'jsonPaths'] as const)
    form.set(RULE_FIELDS[field], texts[field].replaceAll('\n', '\r\n'));
  expect(JSON.stringify(redact(entry, readRules(form)))).not.toContain('hunter2');
});
