import { capitalize } from '@standin/contract';

/** Thrown if an object in a path does not exist or belongs to another project or account. */
export class NotFound extends Error {
  override readonly name = 'NotFound';
  readonly what:
    | 'account'
    | 'endpoint'
    | 'expectation'
    | 'key'
    | 'project'
    | 'purge'
    | 'regeneration'
    | 'replay'
    | 'request'
    | 'share';
  /** A description such as `project default/orders` or `request`. */
  readonly shown: string;
  /** A sentence for API clients that adds details, if any are known. */
  readonly detail: string | undefined;

  constructor(what: NotFound['what'], shown: string, detail?: string) {
    super(`${capitalize(shown)} not found`);
    this.what = what;
    this.shown = shown;
    this.detail = detail;
  }
}

/** Compares the name, because the bundled pages have their own copy of the class. */
export const isNotFound = (error: unknown): error is NotFound => error instanceof Error && error.name === 'NotFound';
