import { SourceError } from '@standin/contract';

/** Thrown instead of sending a call, so that the API server has certainly not processed it. */
export class UnsentError extends SourceError {
  constructor(cause: SourceError) {
    super(cause.kind, cause.message, { cause });
  }
}
