import { NotFound } from '../resources/not-found.ts';

/**
 * Returns the result of reading a request from the log. Rejects with `NotFound` if there is none, or with the error of the read.
 */
export const foundRequest = async <T>(read: Promise<T | undefined>): Promise<T> => {
  const found = await read;
  if (found === undefined) throw new NotFound('request', 'request');
  return found;
};
