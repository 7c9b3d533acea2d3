/** Listeners that a registry tells of changes. */
export class Watchers {
  readonly #watchers = new Set<{ readonly changed: () => void }>();
  readonly #begin: (signal: AbortSignal) => void;
  #looking: AbortController | undefined;

  /**
   * @param begin Begins to look for changes. Called for the first watcher, with a signal that aborts when the
   * last one has stopped. Default: does nothing, for registries where each change calls `tell` itself.
   */
  constructor(begin: (signal: AbortSignal) => void = () => undefined) {
    this.#begin = begin;
  }

  /** Adds a watcher. Returns a function that removes it. */
  add(changed: () => void): () => void {
    const watcher = { changed };
    this.#watchers.add(watcher);
    if (this.#looking === undefined) {
      this.#looking = new AbortController();
      this.#begin(this.#looking.signal);
    }
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.#stop();
    };
  }

  /** Tells all watchers that something has changed. */
  tell(): void {
    for (const { changed } of [...this.#watchers]) changed();
  }

  /** Removes all watchers. */
  clear(): void {
    this.#watchers.clear();
    this.#stop();
  }

  #stop(): void {
    this.#looking?.abort(STOPPED);
    this.#looking = undefined;
  }
}

/** The abort reason once the last watcher has stopped. */
const STOPPED = new Error('nobody watches the registry any more');
