import { askedSizeOf, type SampleRequest } from '../request.js';
import type { RequestFeed } from '../sequence/access-feed.js';
import type { Access } from '../sequence/access-sequence.js';
import type { StartPosition } from '../state.js';

/** The reason why a size is unknown, if it is. */
export type SizeFailure = { readonly error: unknown } | undefined;

/** Most reads by name ahead of the sequence that are remembered. Objects of further ones are read twice. */
const MOST_EARLY = 65_536;

/** Dependencies of a look-ahead. */
export interface LookAheadParts {
  /** Makes the feed, which calls back when a request has arrived. */
  readonly requests: (onReady: () => void) => RequestFeed;
  /** The position to begin at, and what consumers had already taken when the sequence was resumed. */
  readonly start: StartPosition;
  readonly signal: AbortSignal;
  /** Called when a size has become known, or a request has arrived from the sequence. */
  readonly onKnown: () => void;
  /** Called for a request that is passed over, because a consumer took it before its turn. */
  readonly onPassed: (request: SampleRequest) => void;
}

/** Walks the requests of a sequence, and knows the size of the next one before it is read. */
export class LookAhead {
  readonly #parts: LookAheadParts;
  readonly #feed: RequestFeed;
  /** Objects that a consumer has read by name before their turn came, and how often. */
  readonly #early: Map<string, number>;
  /** Accesses that consumers took before the sequence was resumed, as `epoch position`. */
  readonly #taken: Set<string>;
  #request: SampleRequest | undefined;
  /** The last request that arrived, even if it was passed over. */
  #last: Pick<Access, 'epoch' | 'position'>;
  /** Size of the next request in bytes, if known. */
  #size: number | undefined;
  /** Why the size is unknown. */
  #sizeFailure: SizeFailure;
  /** The error of the sequence itself. */
  #failure: { readonly error: unknown } | undefined;
  #isAsking = false;
  #ended = false;

  constructor(parts: LookAheadParts) {
    const { taken, early, epoch, position } = parts.start;
    this.#last = { epoch, position: position - 1 };
    this.#parts = parts;
    this.#feed = parts.requests(parts.onKnown);
    this.#early = new Map(Object.entries(early));
    this.#taken = new Set(taken.map(([epoch, position]) => `${epoch} ${position}`));
  }

  /** Whether the sequence has no more requests. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The next request; undefined at the end, and while the sequence has not produced it yet. */
  get request(): SampleRequest | undefined {
    if (this.#request !== undefined || this.#ended || this.#failure !== undefined) return this.#request;
    try {
      const next = this.#step();
      if (next === 'later') return undefined;
      this.#request = next;
      this.#ended = next === undefined;
    } catch (error) {
      // `peek` throws it in place of the unknown request.
      this.#failure = { error };
    }
    return this.#request;
  }

  /** The next request. If the sequence failed to produce it, a placeholder that reads nothing. */
  get place(): SampleRequest {
    const { epoch, position } = this.#last;
    const readInto = () => Promise.resolve(0);
    return this.request ?? { key: '', epoch, position: position + 1, size: 0, readInto };
  }

  /** Future accesses that consumers took before the sequence was resumed. */
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

  /** Size of the request that `peek` returned, in bytes; 0 if it cannot be known. */
  get size(): number {
    return this.#size ?? 0;
  }

  /** Why the size of the request that `peek` returned is not known. */
  get failure(): SizeFailure {
    return this.#sizeFailure;
  }

  /**
   * Returns the next request, or undefined at the end and until the sequence has produced it and its size is
   * known.
   * @throws The error of the sequence.
   */
  peek(): SampleRequest | undefined {
    const { request } = this;
    if (this.#failure !== undefined) throw this.#failure.error;
    if (request === undefined || this.#sizeFailure !== undefined) return request;
    this.#size ??= request.size;
    if (this.#size !== undefined) return request;
    this.#ask(request);
    return undefined;
  }

  /** Moves on to the next request, because this one is being read. */
  advance(): void {
    this.#request = undefined;
    this.#size = undefined;
    this.#sizeFailure = undefined;
  }

  /**
   * Notes that an object was read by name to its end before its admission. It is passed over when its turn
   * comes.
   */
  readEarly(key: string): void {
    if (this.#request?.key === key) {
      this.#parts.onPassed(this.#request);
      this.advance();
      return;
    }
    const count = this.#early.get(key) ?? 0;
    if (count > 0 || this.#early.size < MOST_EARLY) this.#early.set(key, count + 1);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#request = undefined;
    this.#feed.leave();
  }

  #step(): SampleRequest | 'later' | undefined {
    for (;;) {
      const next = this.#feed.next();
      if (next === undefined || next === 'later') return next;
      this.#last = next;
      if (!this.#wasRead(next)) return next;
      this.#parts.onPassed(next);
    }
  }

  /** Whether a consumer has taken it already. */
  #wasRead({ key, epoch, position }: Access): boolean {
    if (this.#taken.size > 0 && this.#taken.delete(`${epoch} ${position}`)) return true;
    const early = this.#early.size === 0 ? 0 : (this.#early.get(key) ?? 0);
    if (early === 1) this.#early.delete(key);
    else if (early > 1) this.#early.set(key, early - 1);
    return early > 0;
  }

  #ask(request: SampleRequest): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const answered = (take: () => void) => {
      this.#isAsking = false;
      // Otherwise it was read by name in the meantime.
      if (this.#request === request) take();
      this.#parts.onKnown();
    };
    void askedSizeOf(request, { signal: this.#parts.signal }).then(
      (size) => answered(() => (this.#size = size)),
      (error: unknown) => answered(() => (this.#sizeFailure = { error })),
    );
  }
}
