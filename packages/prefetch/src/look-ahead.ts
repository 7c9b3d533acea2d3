import type { Access } from './access-sequence.js';
import type { SampleSource } from './source.js';

/** The next access, with what is known of its object. */
export interface Upcoming {
  readonly access: Access;
  /** Bytes of the object. */
  readonly size: number;
}

/** Reads by name that ran ahead of the sequence and are remembered: more are not, and their objects are read twice. */
const MOST_EARLY = 65_536;

/** Walks the accesses of a sequence, and knows the size of the next object before it is read. */
export class LookAhead {
  readonly #source: SampleSource;
  readonly #accesses: Iterator<Access>;
  readonly #signal: AbortSignal;
  readonly #onKnown: () => void;
  /** Objects that a consumer has read by name before their turn came, and how often. */
  readonly #early = new Map<string, number>();
  /** Accesses that are passed over: a consumer had them before the sequence was resumed. */
  readonly #taken: Set<string>;
  #access: Access | undefined;
  #upcoming: Upcoming | undefined;
  #failure: { readonly access: Access; readonly error: unknown } | undefined;
  #isAsking = false;
  #ended = false;

  /** @param onKnown Called when an object's size has come from the source. */
  constructor(
    source: SampleSource,
    accesses: Iterator<Access>,
    {
      taken = [],
      early = {},
    }: { taken?: readonly (readonly [number, number])[]; early?: Record<string, number> },
    signal: AbortSignal,
    onKnown: () => void,
  ) {
    this.#source = source;
    this.#accesses = accesses;
    this.#signal = signal;
    this.#onKnown = onKnown;
    this.#taken = new Set(taken.map(([epoch, position]) => `${epoch} ${position}`));
    for (const [key, count] of Object.entries(early)) this.#early.set(key, count);
  }

  /** Whether the sequence has no more accesses. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Where the sequence stands: the access whose turn it is, if it is known already. */
  get access(): Access | undefined {
    return this.#access;
  }

  /** How often objects were read by name before their turn, by key. */
  get early(): Record<string, number> {
    return Object.fromEntries(this.#early);
  }

  /**
   * The access whose turn it is; undefined at the end, or until the source has told the size.
   * @throws What the source failed with when it was asked for the size, or what the sequence threw.
   */
  peek(): Upcoming | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#upcoming !== undefined || this.#ended || this.#isAsking) return this.#upcoming;
    const access = this.#step();
    this.#access = access;
    if (access === undefined) {
      this.#ended = true;
      return undefined;
    }
    const size = sizeOf(this.#source, access.key);
    if (size === undefined) this.#ask(access);
    else this.#upcoming = { access, size };
    return this.#upcoming;
  }

  /** The access whose turn it was is being read. */
  advance(): void {
    this.#upcoming = undefined;
    this.#access = undefined;
  }

  /** An object was read by name that was not admitted: it is passed over when its turn comes. */
  readEarly(key: string): void {
    const count = this.#early.get(key) ?? 0;
    if (count > 0 || this.#early.size < MOST_EARLY) this.#early.set(key, count + 1);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#upcoming = undefined;
    this.#accesses.return?.();
  }

  #step(): Access | undefined {
    for (;;) {
      const step = this.#accesses.next();
      if (step.done === true) return undefined;
      const { key, epoch, position } = step.value;
      if (this.#taken.size > 0 && this.#taken.delete(`${epoch} ${position}`)) continue;
      const early = this.#early.size === 0 ? 0 : (this.#early.get(key) ?? 0);
      if (early === 0) return step.value;
      if (early === 1) this.#early.delete(key);
      else this.#early.set(key, early - 1);
    }
  }

  #ask(access: Access): void {
    this.#isAsking = true;
    const known = (size: number) => {
      this.#upcoming = { access, size };
    };
    const failed = (error: unknown) => {
      this.#failure = { access, error };
    };
    void this.#source
      .stat(access.key, { signal: this.#signal })
      .then(({ size }) => known(size), failed)
      .then(() => {
        this.#isAsking = false;
        this.#onKnown();
      });
  }
}

/** Bytes of an object whose size is known without asking the source. */
export function sizeOf({ namespace }: SampleSource, key: string): number | undefined {
  const id = namespace?.find(key) ?? -1;
  return id === -1 ? undefined : namespace?.sizeOf(id);
}
