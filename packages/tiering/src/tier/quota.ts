/** What a tier may hold, and of that what it holds and what was promised, where one process counts it all by itself. In bytes. */
export class Quota {
  readonly #atFirst: number;
  /** What the tier may hold. */
  bytes: number;
  /** Bytes of copies. */
  used = 0;
  #claimed = 0;

  constructor(bytes: number) {
    this.#atFirst = bytes;
    this.bytes = bytes;
  }

  /** Bytes promised to copies on their way. */
  get claimed(): number {
    return this.#claimed;
  }

  get free(): number {
    return Math.max(0, this.bytes - this.used - this.#claimed);
  }

  get excess(): number {
    return Math.max(0, this.used + this.#claimed - this.bytes);
  }

  /** Promises bytes. Returns how that ends; once, however often it is called. */
  claim(bytes: number): () => void {
    this.#claimed += bytes;
    return once(() => (this.#claimed -= bytes));
  }

  /** Nobody waits for what was promised any more. */
  forgetClaims(): void {
    this.#claimed = 0;
  }

  /** See `TierStore.shrink`. */
  shrink(held: number, lost: number): void {
    this.bytes = lowered({ from: this.bytes, atFirst: this.#atFirst, used: this.used, held, lost });
  }
}

/**
 * What a tier may hold whose storage was full before its quota was: at first what was held, then less by what was lost each time. There is
 * room for what is there, however often copies met the end of the storage.
 */
export function lowered(quota: {
  readonly from: number;
  readonly atFirst: number;
  readonly used: number;
  readonly held: number;
  readonly lost: number;
}): number {
  const { from, atFirst, used, held, lost } = quota;
  const before = from === atFirst ? held : from;
  return Math.min(before, Math.max(used, before - lost));
}

/** Does something at the first call, and nothing at any other. */
export function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
