import type { IncomingMessage } from 'node:http';
import { API_LIMITS } from './parameters.ts';
import { ApiProblem } from './problems.ts';

const tooLarge = (): ApiProblem => new ApiProblem('body_too_large');

/**
 * The JSON of a request's body. Its media type is asked for: a page of another origin cannot send it without leave, which nobody
 * gives here.
 */
export const readJsonBody = async (request: IncomingMessage): Promise<unknown> => {
  const [mediaType] = (request.headers['content-type'] ?? '').split(';');
  if (mediaType?.trim().toLowerCase() !== 'application/json') throw new ApiProblem('media_type_unsupported');
  if (Number(request.headers['content-length'] ?? 0) > API_LIMITS.bodyBytesMax) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > API_LIMITS.bodyBytesMax) throw tooLarge();
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiProblem('body_invalid', `This is not JSON: ${(error as Error).message}`);
  }
};
