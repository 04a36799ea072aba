import {
  REJECTED_HEADER,
  REJECTIONS,
  RESPONSE_FAILURES,
  type HeaderPair,
  type RejectionCode,
  type ResponseFailureCode,
} from '@standin/contract';
import type { Refusal } from './refusal.ts';

/** A response that the gateway itself generates, complete except for its date. */
export interface Problem {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
}

interface ProblemText {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly members?: Readonly<Record<string, unknown>> | undefined;
}

/** Returns a problem document (RFC 9457). `code` repeats the last part of `type`, so that clients need not parse a URL. */
const problem = (code: string, text: ProblemText, headers: readonly HeaderPair[]): Problem => {
  const { status, title, detail, members } = text;
  const body = Buffer.from(
    `${JSON.stringify({ type: `https://standin.dev/errors#${code}`, title, status, detail, code, ...members })}\n`,
  );
  return {
    status,
    headers: [
      ['content-type', 'application/problem+json'],
      ['content-length', String(body.length)],
      ['cache-control', 'no-store'],
      ...headers,
    ],
    body,
  };
};

/** RFC 9110 section 11.6.1 requires a 401 response to name a scheme. Standin's scheme is an API key in a header. */
const CHALLENGE: HeaderPair = ['www-authenticate', 'ApiKey realm="standin", header="x-api-key"'];

const build = (code: RejectionCode, { detail, headers = [], members }: Partial<Refusal> = {}): Problem => {
  const rejection = REJECTIONS[code];
  return problem(code, { ...rejection, detail: detail ?? rejection.detail, members }, [
    [REJECTED_HEADER, code],
    ...(rejection.status === 401 ? [CHALLENGE] : []),
    ...headers,
  ]);
};

const prepared = new Map<RejectionCode, Problem>();

/** Returns the response to a request that is not accepted. */
export const rejectionProblem = (refusal: Refusal): Problem => {
  const { code, detail, headers, members } = refusal;
  if (detail !== undefined || headers.length > 0 || members !== undefined) return build(code, refusal);
  const known = prepared.get(code) ?? build(code);
  prepared.set(code, known);
  return known;
};

/** Returns the response to an accepted request whose upstream or template failed. */
export const failureProblem = (code: ResponseFailureCode, detail: string): Problem =>
  problem(code, { ...RESPONSE_FAILURES[code], detail }, []);
