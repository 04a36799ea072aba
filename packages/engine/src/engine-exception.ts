/** An exception from the engine or in its style. `message` is text such as `Code: 60. DB::Exception: …`. */
export class EngineException extends Error {
  override readonly name = 'EngineException';
  readonly code: number;

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Worded like the server's. */
export const engineException = (code: number, name: string, message: string): EngineException =>
  new EngineException(code, `Code: ${code}. DB::Exception: ${message} (${name})`);
