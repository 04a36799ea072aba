import { REJECTED_HEADER, REJECTIONS, RESPONSE_FAILURES, type Rejection } from '@standin/contract';
import { API_PROBLEMS, type ApiProblemKind } from '@standin/dashboard/api-problems';
import { table } from './markdown.ts';

export const errorsDoc = (): string => `# Errors

<!-- Generated from packages/contract/src/rejections.ts and dashboard/src/api/problems.ts by \`npm run generate\`. -->

## Rejections

A rejected request never reaches its endpoint. It is not in the log, and does not count towards the quota. The response is
\`application/problem+json\` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)). The header \`${REJECTED_HEADER}\` contains the code,
so that you can distinguish it from an endpoint's response:

\`\`\`http
HTTP/1.1 404 Not Found
content-type: application/problem+json
${REJECTED_HEADER}: endpoint_not_found

{"type":"https://standin.dev/errors#endpoint_not_found","title":"No endpoint in this project has this path","status":404,"code":"endpoint_not_found","detail":"…"}
\`\`\`

${table(
  ['code', 'status', 'what it means', 'what to do', 'worth a retry'],
  Object.entries<Rejection>(REJECTIONS).map(([code, { status, title, detail, retryable }]) => [
    `\`${code}\``,
    String(status),
    title,
    detail,
    retryable ? 'yes' : 'no',
  ]),
)}

Unknown, revoked and malformed keys get the same response, and so do all wrong signatures. A caller may find out that a project
exists: its URI cannot be guessed, and is not a credential. A response that is worth a retry has the header \`Retry-After\`.

## Failed responses

After a request is accepted, its upstream or a template can still fail. These responses are also \`application/problem+json\`. They are
stored and counted like all other responses, and do not have the header \`${REJECTED_HEADER}\`. The log entry contains the details in
\`upstreamError\` or \`templateError\`.

${table(
  ['code', 'status', 'what it means'],
  Object.entries(RESPONSE_FAILURES).map(([code, { status, title }]) => [`\`${code}\``, String(status), title]),
)}

## The JSON API

The dashboard's [JSON API](api.md) reports errors as \`application/problem+json\` with one of these codes. \`detail\` describes what is
wrong with the request. \`errors\` names parameters or fields, and \`position\` is the range of an error in a search.

${table(
  ['code', 'status', 'what it means', 'what to do', 'worth a retry'],
  Object.entries<ApiProblemKind>(API_PROBLEMS).map(([code, { status, title, hint, retryAfterS }]) => [
    `\`${code}\``,
    String(status),
    title,
    hint,
    retryAfterS === undefined ? 'no' : 'yes',
  ]),
)}
`;
