/** The data of an error page. */
export interface Failure {
  readonly kind: string;
  readonly title: string;
  readonly message: string;
}

export const isFailure = (value: unknown): value is Failure =>
  typeof value === 'object' && value !== null && 'title' in value && 'message' in value && 'kind' in value;
