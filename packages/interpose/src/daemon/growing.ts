import { closedError } from '@tiered/core/internal';
import type { Farm } from './farm.js';
import type { Filling } from './filling.js';
import type { PublishedTable } from './published-table.js';
import type { FileKnowledge } from './source-files.js';
import type { Tree } from './tree.js';

/** Told how many objects are done while that takes a while. */
interface GrowingProgress {
  readonly onTable?: ((objects: number) => void) | undefined;
  readonly onFarm?: ((objects: number) => void) | undefined;
}

/** What knows of objects, and has to take in those that come later. */
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
