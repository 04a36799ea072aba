/** `project default/orders` → `Project default/orders` */
export const sentenceCase = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** What a path names does not exist, or belongs to another project or account. */
export class NotFound extends Error {
  override readonly name = 'NotFound';
  readonly what: 'account' | 'endpoint' | 'key' | 'project' | 'regeneration' | 'replay' | 'request' | 'share';
  /** In words: `project default/orders`, `request`. */
  readonly shown: string;
  /** A sentence for programs, if there is more to say than that it does not exist. */
  readonly detail: string | undefined;

  constructor(what: NotFound['what'], shown: string, detail?: string) {
    super(`${sentenceCase(shown)} not found`);
    this.what = what;
    this.shown = shown;
    this.detail = detail;
  }
}

/** Compares the name, because the bundled pages have their own copy of the class. */
export const isNotFound = (error: unknown): error is NotFound => error instanceof Error && error.name === 'NotFound';
