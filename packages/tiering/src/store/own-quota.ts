/** The quota, copies and claims of a tier in bytes, counted by one process alone. */
export class OwnQuota {
  readonly #atFirst: number;
  /** Bytes that the tier may hold. */
  bytes: number;
  /** Bytes of copies. */
  used = 0;
  #claimed = 0;

  constructor(bytes: number) {
    this.#atFirst = bytes;
    this.bytes = bytes;
  }

  /** Bytes that belong to copies in flight. */
  get claimed(): number {
    return this.#claimed;
  }

  get free(): number {
    return Math.max(0, this.bytes - this.used - this.#claimed);
  }

  get excess(): number {
    return Math.max(0, this.used + this.#claimed - this.bytes);
  }

  /** Claims bytes. Returns a function that gives them back; only its first call has an effect. */
  claim(bytes: number): () => void {
    this.#claimed += bytes;
    return once(() => (this.#claimed -= bytes));
  }

  /** Drops all claims, which no caller waits for any more. */
  forgetClaims(): void {
    this.#claimed = 0;
  }

  /** See `TierStore.shrink`. */
  shrink(held: number, lost: number): void {
    this.bytes = lowered({ from: this.bytes, atFirst: this.#atFirst, used: this.used, held, lost });
  }
}

/**
 * The quota of a tier whose storage was full before its quota was reached: the held bytes the first time,
 * then lower by the lost bytes each time. Present copies always have room, no matter how often others hit the
 * end of the storage.
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

/** Returns a function that does the work on its first call only. */
function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
