/** Something that must not be. */
export class Finding extends Error {
  /** What kind of thing, such as `wrong bytes`; a shrunk schedule shows the same kind. */
  readonly kind: string;

  constructor(kind: string, message: string, cause?: unknown) {
    super(`${kind}: ${message}`, { cause });
    this.kind = kind;
  }
}
