import pLimit, { type LimitFunction } from 'p-limit';

/** A request to the source that began in the background. */
export interface Ticket {
  /**
   * Marks the request as awaited by a reader from now on. Has no effect a second time, or once the request
   * has ended.
   */
  readonly promote: () => void;
  /** Whether a reader waits for it. */
  readonly isWaitedFor: () => boolean;
}

/**
 * Admits requests to the source: at once if a reader waits for them, the others if they do not get in a
 * reader's way. While a reader waits, one background request runs next to the reader's own, so that the
 * source has work between two reads. Otherwise up to `background` of them run.
 */
export class SourceGate {
  readonly #background: number;
  readonly #pool: LimitFunction;
  /** Requests in flight that a reader waits for, and how many of them hold a slot in the pool. */
  #waited = 0;
  #promoted = 0;

  /** @param background Concurrent requests that no reader waits for, at least 1. */
  constructor(background: number) {
    this.#background = background;
    this.#pool = pLimit(background);
  }

  /** Makes a request that a reader waits for. */
  async foreground<T>(request: () => Promise<T>): Promise<T> {
    this.#change(1, 0);
    try {
      return await request();
    } finally {
      this.#change(-1, 0);
    }
  }

  /** Makes a request once it does not get in a reader's way. */
  background<T>(request: (ticket: Ticket) => Promise<T>): Promise<T> {
    return this.#pool(async () => {
      let promoted = 0;
      let ended = false;
      const promote = () => {
        if (ended || promoted === 1) return;
        promoted = 1;
        this.#change(1, 1);
      };
      try {
        return await request({ promote, isWaitedFor: () => promoted === 1 });
      } finally {
        ended = true;
        if (promoted === 1) this.#change(-1, -1);
      }
    });
  }

  #change(waited: number, promoted: number): void {
    this.#waited += waited;
    this.#promoted += promoted;
    this.#pool.concurrency = this.#promoted + (this.#waited > 0 ? 1 : this.#background);
  }
}
