import { REJECTED_HEADER, REJECTIONS, RESPONSE_FAILURES, type Rejection } from '@standin/contract';
import { API_PROBLEMS, type ApiProblemKind } from '@standin/dashboard/api-problems';
import { item } from './markdown.ts';

const errorItem = (code: string, status: number, description: readonly string[], retryable: boolean): string =>
  item(`\`${code}\``, [`${status}${retryable ? ', retry' : ''}`], description);

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

Unknown, revoked and malformed keys get the same response, and so do all wrong signatures. A caller may find out that a project
exists: its URI cannot be guessed, and is not a credential. _Retry_ means that the same request can succeed later. Responses with 429
and 503 have the header \`Retry-After\`.

${Object.entries<Rejection>(REJECTIONS)
  .map(([code, { status, title, detail, retryable }]) => errorItem(code, status, [title, detail], retryable))
  .join('\n')}

## Failed responses

After a request is accepted, its upstream or a template can still fail, or it can take too long. These responses are also \`application/problem+json\`. They are
stored and counted like all other responses, and do not have the header \`${REJECTED_HEADER}\`. The log entry contains the details in
\`upstreamError\` or \`templateError\`.

${Object.entries(RESPONSE_FAILURES)
  .map(([code, { status, title }]) => errorItem(code, status, [title], false))
  .join('\n')}

## The JSON API

The dashboard's [JSON API](api.md) reports errors as \`application/problem+json\` with one of these codes. \`detail\` describes what is
wrong with the request. \`errors\` names parameters or fields, and \`position\` is the range of an error in a search.

${Object.entries<ApiProblemKind>(API_PROBLEMS)
  .map(([code, { status, title, hint, retryAfterS }]) =>
    errorItem(code, status, [title, hint], retryAfterS !== undefined),
  )
  .join('\n')}
`;
