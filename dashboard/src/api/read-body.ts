import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorMessage } from '@standin/contract';
import { BodyRefusal, type BodyLimits, type ReadBody } from '../request-bodies.ts';
import { API_LIMITS } from './parameters.ts';
import { ApiProblem } from './problems.ts';

/**
 * Parses the JSON body of a request. Requires the JSON media type, because pages from another origin cannot send it without a CORS
 * permission, which the dashboard never grants.
 */
export const readJsonBody = async (
  request: IncomingMessage,
  response: ServerResponse,
  { readBody, findHolder }: { readonly readBody: ReadBody } & Pick<BodyLimits, 'findHolder'>,
): Promise<unknown> => {
  const [mediaType] = (request.headers['content-type'] ?? '').split(';');
  if (mediaType?.trim().toLowerCase() !== 'application/json') throw new ApiProblem('media_type_unsupported');
  const text = await readText(readBody(request, response, { bytesMax: API_LIMITS.bodyBytesMax, findHolder }));
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiProblem('body_invalid', `Invalid JSON: ${errorMessage(error)}`);
  }
};

const readText = async (chunks: AsyncIterable<Uint8Array>): Promise<string> => {
  try {
    const read: Uint8Array[] = [];
    for await (const chunk of chunks) read.push(chunk);
    return Buffer.concat(read).toString('utf8');
  } catch (error) {
    if (error instanceof BodyRefusal)
      throw new ApiProblem(error.kind === 'busy' ? 'too_many_bodies' : 'body_too_large');
    throw error;
  }
};
