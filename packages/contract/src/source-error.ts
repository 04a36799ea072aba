import type { SourceErrorKind } from './resource-source.ts';

/** Thrown when a read or write of a `ResourceSource` fails. `message` says what is wrong. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly kind: SourceErrorKind;

  constructor(kind: SourceErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
