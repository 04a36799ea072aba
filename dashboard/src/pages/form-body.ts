import { ReadableStream } from 'node:stream/web';
import type { Request, Response as ExpressResponse } from 'express';
import { BodyRefusal, type BodyLimits, type ReadBody } from '../request-bodies.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

export const FORM_LIMITS = {
  /**
   * For requests without a session, and for forms with only a token and a path. The token must later fit in request headers of 16
   * KiB, and a path of 2,000 characters takes 6,000 bytes.
   */
  smallBytesMax: 32 * KIB,
  bytesMax: MIB,
  /** For forms that contain a body or headers. etcd accepts objects of 1.5 MiB, and form encoding can write each byte as `%XX`. */
  objectBytesMax: 4.5 * MIB,
  /**
   * The largest form is the Endpoint form: a name and a value for each of 64 headers, and about 50 fields for each response that is
   * open. Each field is parsed, checked and shown again.
   */
  fieldsMax: 2_000,
} as const;

const SMALL = /^\/(login|logout|preferences)(\.data)?\/?$/i;
const OBJECT =
  /^\/p\/[^/]+\/[^/]+\/(preview|endpoints\/new|endpoints\/[^/]+\/(edit|yaml)|traffic\/[^/]+\/replay)(\.data)?\/?$/i;

export const formBytesMax = (path: string, isSignedIn: boolean): number => {
  if (!isSignedIn || SMALL.test(path)) return FORM_LIMITS.smallBytesMax;
  return OBJECT.test(path) ? FORM_LIMITS.objectBytesMax : FORM_LIMITS.bytesMax;
};

const sizeText = (bytes: number): string => (bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`);

/** Returns a response with the shape of `Failure`. The page shows its title and message. */
const refusal = (status: 413 | 415 | 503, title: string, message: string): Response =>
  Response.json(
    { kind: 'Refused', title, message },
    { status, ...(status === 503 && { headers: { 'retry-after': '2' } }) },
  );

const isForm = (type: string | undefined): boolean =>
  type?.split(';')[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded';

const AMPERSAND = 0x26;
const fieldsIn = (chunk: Uint8Array): number => {
  let count = 0;
  for (const byte of chunk) if (byte === AMPERSAND) count += 1;
  return count;
};

export interface FormBodyOptions extends Pick<BodyLimits, 'findHolder'> {
  readonly readBody: ReadBody;
  readonly isSignedIn: boolean;
}

/**
 * Returns the body of a page request for Remix. Reads nothing until an action asks for it. If the body is not a form, is too large,
 * or would exceed the memory for all bodies, reading fails with a response that states the reason, and Remix shows that response as
 * an error page.
 */
export const formBody = (
  request: Request,
  response: ExpressResponse,
  { readBody, findHolder, isSignedIn }: FormBodyOptions,
): ReadableStream<Uint8Array> => {
  const bytesMax = formBytesMax(request.path, isSignedIn);
  const chunks = async function* (): AsyncGenerator<Uint8Array, void> {
    if (!isForm(request.headers['content-type']))
      throw refusal(415, 'This form cannot be read', 'Send it as application/x-www-form-urlencoded.');
    let fields = 1;
    try {
      for await (const chunk of readBody(request, response, { bytesMax, findHolder })) {
        fields += fieldsIn(chunk);
        if (fields > FORM_LIMITS.fieldsMax)
          throw refusal(
            413,
            'The form is too large',
            `It has more than ${FORM_LIMITS.fieldsMax.toLocaleString('en')} fields. Remove some, or close some responses, and submit it again.`,
          );
        yield chunk;
      }
    } catch (error) {
      if (!(error instanceof BodyRefusal)) throw error;
      throw error.kind === 'busy'
        ? refusal(503, 'The dashboard is busy', 'Too many forms are being submitted. Try again in a few seconds.')
        : refusal(
            413,
            'The form is too large',
            `It is larger than ${sizeText(bytesMax)}. Shorten it and submit it again.`,
          );
    }
  };
  return ReadableStream.from(chunks());
};
