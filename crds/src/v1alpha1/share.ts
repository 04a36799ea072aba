import { LIMITS } from '@standin/contract';
import { z } from 'zod';
import { AGE_COLUMN, defineKind, MESSAGE_COLUMN, READY_COLUMNS } from '../definition.ts';
import { commonStatus, instant, logId, reference, text } from '../fields.ts';
import { headerNameRules } from '../http-rules.ts';
import { immutable, matches, withRules } from '../rules.ts';

const names = <T extends z.ZodType<string>>(item: T) =>
  z.array(item).max(LIMITS.redactedNamesMax).optional().meta({ 'x-kubernetes-list-type': 'atomic' });

/**
 * Allows names, indexes, `*` and `..`, but no filters, so that readers can tell what a path hides (see `parseJsonPath` in
 * packages/exchange).
 */
const JSON_PATH = '[$]([.]{1,2}[A-Za-z_*][A-Za-z0-9_*-]*|\\[[0-9]{1,6}\\]|\\[[*]\\]|([.][.])?\\["[^"\\\\]{1,128}"\\])*';

const redact = z.strictObject({
  headers: names(
    withRules(text({ min: 1, max: LIMITS.redactedNameLengthMax }), headerNameRules).describe(
      'Name of a header, for example x-session-*. Case-insensitive; * matches any characters.',
    ),
  ).describe('Names of request and response headers whose values are hidden.'),
  query: names(
    text({ min: 1, max: LIMITS.redactedNameLengthMax }).describe(
      'Decoded name, for example token. Case-insensitive; * matches any characters.',
    ),
  ).describe('Names of query parameters, form fields and pairs in text whose values are hidden.'),
  jsonPaths: names(
    withRules(text({ min: 1, max: LIMITS.redactedNameLengthMax }), [
      matches(JSON_PATH, 'must be a path such as $.card.number, $.items[*].id, $..token or $["first name"]'),
    ]).describe(
      'A path without filters, for example $.card.number. Case-insensitive; $..token matches token at any depth.',
    ),
  ).describe('Paths of the values that are hidden in JSON request and response bodies.'),
});

const spec = z
  .strictObject({
    projectRef: reference('a Project', 'shop').describe('The project that received the request.'),
    requestId: logId().describe(
      'Id of the captured request that is shown, for example 0197a3c2-6f5e-7d11-8a55-3c0ffee0cafe.',
    ),
    tokenSha256: withRules(text({ min: 64, max: 64 }), [
      matches('[0-9a-f]{64}', 'must be a SHA-256 in lower-case hex: the token itself is never stored'),
    ]).describe('SHA-256 of the token in the link: 64 hex digits in lower case.'),
    expiresAt: instant().describe('When the link stops working, for example 2026-11-28T09:00:00Z.'),
    redact: redact
      .optional()
      .describe(
        "What is hidden in addition to API keys, authorization, cookies and callers' addresses. Default: every field whose name is typical of secrets.",
      ),
  })
  .describe(
    'The desired state: the captured request that is shown to anyone who has the link. The spec cannot be changed. To revoke the link, delete the Share.',
  );

const status = z
  .strictObject({
    ...commonStatus({
      Accepted: "the spec is valid, the account's plan includes sharing, and expiresAt has not passed.",
      Ready: 'the link works.',
      Reconciling:
        'the operator is looking for the request, which may still be on its way to the log (present only while True).',
      Stalled:
        'the link does not work, and only a new object or a different plan can change that (present only while True).',
    }),
  })
  .describe('The observed state, written by the operator.');

export type ShareSpec = z.output<typeof spec>;
export type ShareStatus = z.output<typeof status>;

export const share = defineKind({
  kind: 'Share',
  description:
    'A public link to one captured request and its response, with parts of them hidden. The link works until it expires. To revoke the link, delete the Share.',
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
