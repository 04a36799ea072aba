// client-node's errors are not those of the ports in contract.

import { SourceError, type SourceErrorKind } from '@standin/contract';
import { ApiError } from './api-error.ts';

const sourceErrorKind = ({ status }: ApiError): SourceErrorKind => {
  switch (status) {
    case 404:
      return 'NotFound';
    case 409:
      return 'Conflict';
    case 400:
    case 413:
    case 415:
    case 422:
      return 'Invalid';
    case 401:
      return 'Unauthorized';
    case 403:
      return 'Forbidden';
    default:
      return 'Unavailable';
  }
};

/** Converts an `ApiError` to a `SourceError` with the same message. Returns any other error unchanged. */
export const toSourceError = (error: unknown): unknown =>
  error instanceof ApiError ? new SourceError(sourceErrorKind(error), error.message, { cause: error }) : error;

/** Waits for a call to the API server. Rejects with a `SourceError` if the call fails with an `ApiError`. */
export const asSourceError = async <T>(call: Promise<T>): Promise<T> => {
  try {
    return await call;
  } catch (error) {
    throw toSourceError(error);
  }
};
