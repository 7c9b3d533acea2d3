/** Those that a registry tells of changes. */
export class Watchers {
  readonly #watchers = new Set<{ readonly changed: () => void }>();
  readonly #begin: (signal: AbortSignal) => void;
  #looking: AbortController | undefined;

  /**
   * @param begin Begins to look for changes. Called for the first watcher, with a signal that aborts when the
   * last one has stopped. Default: nothing, since whatever changes the records tells of it.
   */
  constructor(begin: (signal: AbortSignal) => void = () => undefined) {
    this.#begin = begin;
  }

  /** Adds one. Returns what removes it. */
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

  /** Tells all that something has changed. */
  tell(): void {
    for (const { changed } of [...this.#watchers]) changed();
  }

  /** Removes all. */
  clear(): void {
    this.#watchers.clear();
    this.#stop();
  }

  #stop(): void {
    this.#looking?.abort(STOPPED);
    this.#looking = undefined;
  }
}

/** The reason for which nobody looks any more. */
const STOPPED = new Error('nobody watches the registry any more');
