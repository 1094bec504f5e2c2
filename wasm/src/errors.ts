// What can be wrong, with a code to tell apart by.

/** Everything that this package throws on purpose. */
export class TokenmillError extends Error {
  /** One word for the kind of error, such as "CorruptModel". */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "TokenmillError";
    this.code = code;
  }
}
