import { isTieredError, type Clock } from '@tiered/core';
import { closedError } from '@tiered/core/internal';
import type { Farm } from './farm.js';
import type { Filling } from './filling.js';
import type { PublishedTable } from './published-table.js';
import type { FileKnowledge } from './source-files.js';
import type { Tree } from './tree.js';

/** Milliseconds between two listings of the source, at least. */
export const RESCAN_MS = 300_000;
/** So many times as long as a listing takes nothing is listed, so that the source has better things to do. */
const REST = 20;

/** Told how many objects are done while that takes a while. */
interface GrowingProgress {
  readonly onTable?: ((objects: number) => void) | undefined;
  readonly onFarm?: ((objects: number) => void) | undefined;
}

/** The parts that have to take in objects that come later. */
interface GrowingParts {
  readonly table: PublishedTable;
  readonly files: FileKnowledge;
  readonly tree: Tree | undefined;
  readonly farm: Farm | undefined;
  readonly filling: Filling | undefined;
}

/** Takes in objects, one time after the other: a table that grows may be replaced. */
export class Growing {
  readonly #parts: GrowingParts;
  readonly #closing = new AbortController();
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: GrowingParts) {
    this.#parts = parts;
  }

  /** @throws What growing a table, a tree or a farm throws; `TIERED_CLOSED`. */
  more(under: AbortSignal | undefined, progress: GrowingProgress = {}): Promise<void> {
    const signal = AbortSignal.any([this.#closing.signal, ...(under === undefined ? [] : [under])]);
    const grown = this.#last.then(() => this.#more(signal, progress));
    this.#last = grown.catch(() => undefined);
    return grown;
  }

  /** Gives up what is under way. */
  async close(): Promise<void> {
    this.#closing.abort(closedError());
    await this.#last;
  }

  async #more(signal: AbortSignal, { onTable, onFarm }: GrowingProgress): Promise<void> {
    const { table, files, tree, farm, filling } = this.#parts;
    signal.throwIfAborted();
    await tree?.grow(signal);
    await files.renew?.(signal);
    if (await table.grow(signal, files.fileOf, onTable)) files.forgetAll?.();
    await farm?.grow(signal, onFarm);
    filling?.begin();
  }
}

/**
 * Lists the source again from time to time, to find changes of others that the shim does not see. A change
 * that one listing misses, because the source cannot be reached, is found by the next one.
 */
export class Rescans {
  readonly #closing = new AbortController();
  readonly #done: Promise<void>;

  /**
   * @param everyMs Milliseconds between two listings. A listing that takes longer than a twentieth of that is
   * followed by a longer pause.
   */
  constructor(rescan: (signal: AbortSignal) => Promise<void>, everyMs: number, clock: Clock) {
    this.#done = this.#run(rescan, everyMs, clock);
  }

  /** Gives up a listing that is under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#done;
  }

  async #run(rescan: (signal: AbortSignal) => Promise<void>, everyMs: number, clock: Clock): Promise<void> {
    const { signal } = this.#closing;
    let pause = everyMs;
    for (;;) {
      await clock.sleep(pause, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      const began = clock.now();
      try {
        await rescan(signal);
      } catch (error) {
        if (!signal.aborted && !isTieredError(error)) throw error;
      }
      pause = Math.max(everyMs, REST * (clock.now() - began));
    }
  }
}
