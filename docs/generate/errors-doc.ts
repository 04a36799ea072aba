import { REJECTED_HEADER, REJECTIONS, RESPONSE_FAILURES, type Rejection } from '@standin/contract';
import { API_PROBLEMS, type ApiProblemKind } from '@standin/dashboard/api-problems';
import { table } from './markdown.ts';

export const errorsDoc = (): string => `# Errors

<!-- Generated from packages/contract/src/rejections.ts and dashboard/src/api/problems.ts by \`npm run generate\`. -->

## Rejections

A request that is rejected never reaches its endpoint: it is not logged and not counted. The answer is
[RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) \`application/problem+json\`, and the header \`${REJECTED_HEADER}\` has the
code, so that it cannot be mistaken for an endpoint's response:

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

Unknown, revoked and malformed keys get the same answer, and so do all wrong signatures. That a project exists may show: its URI cannot be guessed, and is no
credential. What may be tried again later carries \`Retry-After\`.

## Failed responses

After a request was accepted, its upstream or a template can still fail. These answers are \`application/problem+json\` too, but they are stored and
counted like any other answer, and carry no \`${REJECTED_HEADER}\`. The log entry's \`upstreamError\` or
\`templateError\` has the details.

${table(
  ['code', 'status', 'what it means'],
  Object.entries(RESPONSE_FAILURES).map(([code, { status, title }]) => [`\`${code}\``, String(status), title]),
)}

## The JSON API

What [/api/v1](api.md) of the dashboard refuses is \`application/problem+json\` with one of these codes. \`detail\` says what is wrong with this very
request; \`errors\` names parameters or fields, \`position\` the wrong characters of a search.

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
