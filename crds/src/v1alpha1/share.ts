import { LIMITS } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind } from '../definition.ts';
import { commonStatus, instant, logId, reference, text } from '../fields.ts';
import { headerNameRules } from '../http-rules.ts';
import { immutable, matches, withRules } from '../rules.ts';

const names = <T extends z.ZodType<string>>(item: T) =>
  z.array(item).max(LIMITS.redactedNamesMax).optional().meta({ 'x-kubernetes-list-type': 'atomic' });

/** Allows names, indexes, `*` and `..`, but no filters, so that readers can tell what a path hides (see `parseJsonPath` in the log store). */
const JSON_PATH = '[$]([.]{1,2}[A-Za-z_*][A-Za-z0-9_*-]*|\\[[0-9]{1,6}\\]|\\[[*]\\]|([.][.])?\\["[^"\\\\]{1,128}"\\])*';

const redact = z.strictObject({
  headers: names(
    withRules(text({ min: 1, max: LIMITS.redactedNameLengthMax }), headerNameRules).describe(
      'Letter case does not matter; * stands for any characters.',
    ),
  ).describe('Headers of request and answer whose values are hidden.'),
  query: names(
    text({ min: 1, max: LIMITS.redactedNameLengthMax }).describe(
      'As it is when decoded. Letter case does not matter; * stands for any characters.',
    ),
  ).describe('Parameters of the query, fields of forms and named values in text that are hidden.'),
  jsonPaths: names(
    withRules(text({ min: 1, max: LIMITS.redactedNameLengthMax }), [
      matches(JSON_PATH, 'must be a path such as $.card.number, $.items[*].id, $..token or $["first name"]'),
    ]).describe('No filters. Letter case does not matter; $..token is any token, however deep.'),
  ).describe('Values of JSON bodies, of request and answer, that are hidden: $.card.number, $.items[*].token.'),
});

const spec = z
  .strictObject({
    projectRef: reference('a Project').describe('The project that the log entry belongs to.'),
    requestId: logId().describe('The log entry that is shown.'),
    tokenSha256: withRules(text({ min: 64, max: 64 }), [
      matches('[0-9a-f]{64}', 'must be a SHA-256 in lower-case hex: the token itself is never stored'),
    ]).describe('SHA-256 of the token in the link.'),
    expiresAt: instant().describe('The link works until then.'),
    redact: redact
      .optional()
      .describe(
        'What is hidden besides API keys, authorization, cookies and addresses of callers, which always are. Default: every field whose name is one that secrets have.',
      ),
  })
  .describe('Shows one log entry to anyone who has the link. It cannot be changed: delete it to revoke the link.');

const status = z.strictObject({ ...commonStatus }).describe('Written by the operator.');

export type ShareSpec = z.output<typeof spec>;
export type ShareStatus = z.output<typeof status>;

export const share = defineKind({
  kind: 'Share',
  description:
    'A public link to one log entry, with parts of it hidden, until it expires. Deleting it revokes the link.',
  spec,
  status,
  conditions: ['Accepted'],
  nameRules: [],
  transitions: immutable<ShareSpec>(
    ['projectRef', 'requestId', 'tokenSha256', 'expiresAt', 'redact'],
    new Set(['redact']),
    'cannot be changed, as the link is out: create another Share and delete this one',
  ),
  printerColumns: [
    { name: 'Project', type: 'string', jsonPath: '.spec.projectRef.name' },
    { name: 'Request', type: 'string', jsonPath: '.spec.requestId' },
    { name: 'Accepted', type: 'string', jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
    { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Accepted")].reason' },
    { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt' },
    AGE_COLUMN,
    {
      name: 'Message',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Accepted")].message',
      priority: 1,
    },
  ],
  selectableFields: ['.spec.projectRef.name'],
});
