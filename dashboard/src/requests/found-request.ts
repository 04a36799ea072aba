import { NotFound } from '../resources/not-found.ts';

/** What a read of the log found under the id of a request. Rejects with `NotFound`, or as the read does. */
export const foundRequest = async <T>(read: Promise<T | undefined>): Promise<T> => {
  const found = await read;
  if (found === undefined) throw new NotFound('request', 'request');
  return found;
};
