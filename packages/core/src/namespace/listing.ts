import type { ObjectStat } from '../driver/driver.js';
import type { Clock } from '../support/clock.js';
import type { MetadataContainer, Namespace } from './metadata-container.js';

/** Entries checked per page. This many block the event loop for well below a millisecond. */
const PAGE = 1000;

/** The known objects whose keys begin with a prefix, in pages, with a turn of the event loop after each. */
export async function* listed(
  namespace: MetadataContainer,
  clock: Clock,
  prefix = '',
): AsyncGenerator<readonly ObjectStat[], void, undefined> {
  for (let first = 0; first < namespace.count; first += PAGE) {
    const page: ObjectStat[] = [];
    for (let id = first; id < Math.min(first + PAGE, namespace.count); id++)
      if (namespace.isKnown(id) && namespace.keyOf(id).startsWith(prefix)) page.push(namespace.describe(id));
    yield page;
    await clock.turn();
  }
}

/** Objects in a part. Withdrawing this many copies blocks the event loop for a few milliseconds. */
const AT_A_TIME = 1000;

/**
 * Tracks the objects that were known when a listing began and that the source has shown since. Objects that a
 * complete listing has not shown are gone. Takes one bit per object.
 */
export class ListedObjects {
  readonly #namespace: Namespace;
  /** Objects that became known later are not tracked, because the source has just shown them. */
  readonly #end: number;
  readonly #seen: Uint8Array;
  #isEmpty = true;

  constructor(namespace: Namespace) {
    this.#namespace = namespace;
    this.#end = namespace.count;
    this.#seen = new Uint8Array(Math.ceil(this.#end / 8));
  }

  /** Records that the source has shown an object, in the listing or on request. */
  see(id: number): void {
    this.#isEmpty = false;
    if (id < this.#end) this.#seen[id >>> 3] = this.#bits(id) | (1 << (id & 7));
  }

  /**
   * The ids of the objects that are gone, in parts, between which other work should get its turn. Call it
   * after the listing. It gives none if the listing showed nothing at all, which is more likely an unmounted
   * directory than a deleted dataset.
   */
  *gone(): Generator<readonly number[], void, undefined> {
    for (let first = 0; first < this.#end && !this.#isEmpty; first += AT_A_TIME) {
      const gone: number[] = [];
      for (let id = first; id < Math.min(first + AT_A_TIME, this.#end); id++)
        if ((this.#bits(id) & (1 << (id & 7))) === 0 && this.#namespace.isKnown(id)) gone.push(id);
      yield gone;
    }
  }

  #bits(id: number): number {
    return this.#seen[id >>> 3] ?? 0;
  }
}
