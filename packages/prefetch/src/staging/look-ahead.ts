import type { AccessFeed } from '../sequence/access-feed.js';
import type { Access } from '../sequence/access-sequence.js';
import type { StartPosition } from '../sequence/position.js';
import { sizeOf, type SampleSource } from '../source.js';

/** The next access, with what is known of its object. */
export interface Upcoming {
  readonly access: Access;
  /** Bytes of the object. */
  readonly size: number;
  /** Why its size is not known. */
  readonly failure?: { readonly error: unknown };
}

/**
 * The most reads by name ahead of the sequence that are remembered. Objects of further ones are read twice.
 */
const MOST_EARLY = 65_536;

/** What a look-ahead works with. */
export interface LookAheadParts {
  readonly source: SampleSource;
  /** Makes the feed, which calls back when an access has come. */
  readonly accesses: (onReady: () => void) => AccessFeed;
  /** Where to begin, and what consumers had already when the sequence was resumed. */
  readonly start: StartPosition;
  readonly signal: AbortSignal;
  /** Called when an object's size has come from the source, or an access from the sequence. */
  readonly onKnown: () => void;
  /** Called for an access that is passed over, because a consumer had it before its turn. */
  readonly onPassed: (access: Access) => void;
}

/** Walks the accesses of a sequence, and knows the size of the next object before it is read. */
export class LookAhead {
  readonly #parts: LookAheadParts;
  readonly #feed: AccessFeed;
  /** Objects that a consumer has read by name before their turn came, and how often. */
  readonly #early: Map<string, number>;
  /** Accesses that consumers had before the sequence was resumed, as `epoch position`. */
  readonly #taken: Set<string>;
  #access: Access | undefined;
  /** The last access that came, also one that was passed over. */
  #last: Pick<Access, 'epoch' | 'position'>;
  /** Bytes of its object, if they are known. */
  #size: number | undefined;
  /** Why they are not. */
  #sizeFailure: { readonly error: unknown } | undefined;
  /** The error of the sequence itself. */
  #failure: { readonly error: unknown } | undefined;
  #isAsking = false;
  #ended = false;

  constructor(parts: LookAheadParts) {
    const { taken, early, epoch, position } = parts.start;
    this.#last = { epoch, position: position - 1 };
    this.#parts = parts;
    this.#feed = parts.accesses(parts.onKnown);
    this.#early = new Map(Object.entries(early));
    this.#taken = new Set(taken.map(([epoch, position]) => `${epoch} ${position}`));
  }

  /** Whether the sequence has no more accesses. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The access whose turn it is; undefined at the end, and while the sequence has not given it yet. */
  get access(): Access | undefined {
    if (this.#access !== undefined || this.#ended || this.#failure !== undefined) return this.#access;
    try {
      const next = this.#step();
      if (next === 'later') return undefined;
      this.#access = next;
      this.#ended = next === undefined;
    } catch (error) {
      // `peek` throws it, in the place of an access that nobody knows.
      this.#failure = { error };
    }
    return this.#access;
  }

  /** The access whose turn it is; if the sequence failed to tell it, its place, for no key. */
  get place(): Access {
    const { epoch, position } = this.#last;
    return this.access ?? { key: '', epoch, position: position + 1 };
  }

  /** Accesses to come that consumers had before the sequence was resumed. */
  get taken(): StartPosition['taken'] {
    return [...this.#taken].map((place) => {
      const [epoch, position] = place.split(' ').map(Number);
      return [epoch ?? 0, position ?? 0] as const;
    });
  }

  /** How often objects were read by name before their turn, by key. */
  get early(): Record<string, number> {
    return Object.fromEntries(this.#early);
  }

  /**
   * Returns the access whose turn it is; undefined at the end, or until the sequence has given it and the
   * source its size.
   * @throws The error of the sequence.
   */
  peek(): Upcoming | undefined {
    const { access } = this;
    if (this.#failure !== undefined) throw this.#failure.error;
    if (access === undefined) return undefined;
    if (this.#sizeFailure !== undefined) return { access, size: 0, failure: this.#sizeFailure };
    this.#size ??= sizeOf(this.#parts.source, access.key);
    if (this.#size !== undefined) return { access, size: this.#size };
    this.#ask(access);
    return undefined;
  }

  /** The access whose turn it was is being read. */
  advance(): void {
    this.#access = undefined;
    this.#size = undefined;
    this.#sizeFailure = undefined;
  }

  /** An object was read by name to its end, and was not admitted: it is passed over when its turn comes. */
  readEarly(key: string): void {
    if (this.#access?.key === key) {
      this.#parts.onPassed(this.#access);
      this.advance();
      return;
    }
    const count = this.#early.get(key) ?? 0;
    if (count > 0 || this.#early.size < MOST_EARLY) this.#early.set(key, count + 1);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#access = undefined;
    this.#feed.leave();
  }

  #step(): Access | 'later' | undefined {
    for (;;) {
      const next = this.#feed.next();
      if (next === undefined || next === 'later') return next;
      this.#last = next;
      if (!this.#wasRead(next)) return next;
      this.#parts.onPassed(next);
    }
  }

  /** Whether a consumer has had it already. */
  #wasRead({ key, epoch, position }: Access): boolean {
    if (this.#taken.size > 0 && this.#taken.delete(`${epoch} ${position}`)) return true;
    const early = this.#early.size === 0 ? 0 : (this.#early.get(key) ?? 0);
    if (early === 1) this.#early.delete(key);
    else if (early > 1) this.#early.set(key, early - 1);
    return early > 0;
  }

  #ask(access: Access): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const answered = (take: () => void) => {
      this.#isAsking = false;
      // Else it was read by name in the meantime.
      if (this.#access === access) take();
      this.#parts.onKnown();
    };
    void this.#parts.source.stat(access.key, { signal: this.#parts.signal }).then(
      ({ size }) => answered(() => (this.#size = size)),
      (error: unknown) => answered(() => (this.#sizeFailure = { error })),
    );
  }
}
