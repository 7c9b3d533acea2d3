/** A part that may have to be closed. */
interface Closable {
  readonly close?: (() => unknown) | undefined;
}

/** Keeps what was opened, one part after the other, and closes it in the opposite order. */
export class Parts {
  readonly #closers: (() => unknown)[] = [];

  /**
   * Keeps a part, and returns it.
   * @param close How it ends. Default: its method `close`, if it has one.
   */
  add<T>(part: T, close: (part: T) => unknown = closePart): T {
    this.#closers.push(() => close(part));
    return part;
  }

  /** Closes all, also if something fails: the first error is thrown then. */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (let one = this.#closers.pop(); one !== undefined; one = this.#closers.pop())
      await Promise.resolve()
        .then(one)
        .catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }
}

const closePart = (part: unknown) => (part as Closable | undefined)?.close?.();
