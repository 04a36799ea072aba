import { LIMITS } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind, MESSAGE_COLUMN, READY_COLUMNS } from '../definition.ts';
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
      'Case-insensitive; * matches any characters.',
    ),
  ).describe('Headers of request and response whose values are hidden.'),
  query: names(
    text({ min: 1, max: LIMITS.redactedNameLengthMax }).describe(
      'The decoded name. Case-insensitive; * matches any characters.',
    ),
  ).describe('Query parameters, form fields and named values in text that are hidden.'),
  jsonPaths: names(
    withRules(text({ min: 1, max: LIMITS.redactedNameLengthMax }), [
      matches(JSON_PATH, 'must be a path such as $.card.number, $.items[*].id, $..token or $["first name"]'),
    ]).describe('No filters. Case-insensitive; $..token matches token at any depth.'),
  ).describe('Values in JSON bodies of request and response that are hidden: $.card.number, $.items[*].token.'),
});

const spec = z
  .strictObject({
    projectRef: reference('a Project').describe('The project of the log entry.'),
    requestId: logId().describe('The log entry that is shown.'),
    tokenSha256: withRules(text({ min: 64, max: 64 }), [
      matches('[0-9a-f]{64}', 'must be a SHA-256 in lower-case hex: the token itself is never stored'),
    ]).describe('SHA-256 of the token in the link.'),
    expiresAt: instant().describe('When the link stops working.'),
    redact: redact
      .optional()
      .describe(
        'Hidden in addition to API keys, authorization, cookies and caller addresses. Default: every field whose name is typical of secrets.',
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
  conditions: ['Accepted', 'Ready'],
  nameRules: [],
  transitions: immutable<ShareSpec>(
    ['projectRef', 'requestId', 'tokenSha256', 'expiresAt', 'redact'],
    new Set(['redact']),
    'cannot be changed, because the link may have been sent: create another Share and delete this one',
  ),
  printerColumns: [
    { name: 'Project', type: 'string', jsonPath: '.spec.projectRef.name' },
    { name: 'Request', type: 'string', jsonPath: '.spec.requestId' },
    ...READY_COLUMNS,
    { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt' },
    AGE_COLUMN,
    MESSAGE_COLUMN,
  ],
  selectableFields: ['.spec.projectRef.name'],
});
