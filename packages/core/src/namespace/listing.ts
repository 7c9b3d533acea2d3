import type { ObjectStat } from '../driver/driver.js';
import type { Clock } from '../support/clock.js';
import type { MetadataContainer, Namespace } from './metadata-container.js';

/** Entries that are looked at for a page: so many keep the event loop for well below a millisecond. */
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

/** Objects in a part. To take so many copies out of service keeps the event loop for few milliseconds. */
const AT_A_TIME = 1000;

/**
 * Which of the objects that were known when a listing began the source has shown since. Objects that a
 * complete listing has not shown are gone. Takes a bit for each object.
 */
export class ListedObjects {
  readonly #namespace: Namespace;
  /** Objects that became known later were seen by whoever made them known. */
  readonly #end: number;
  readonly #seen: Uint8Array;
  #isEmpty = true;

  constructor(namespace: Namespace) {
    this.#namespace = namespace;
    this.#end = namespace.count;
    this.#seen = new Uint8Array(Math.ceil(this.#end / 8));
  }

  /** The source has shown an object, in the listing or because it was asked. */
  see(id: number): void {
    this.#isEmpty = false;
    if (id < this.#end) this.#seen[id >>> 3] = this.#bits(id) | (1 << (id & 7));
  }

  /**
   * The ids of the objects that are gone, in parts, between which others should have their turn. The listing
   * has ended. There are none if it showed nothing at all: that is more likely a directory where nothing is
   * mounted than a dataset that was deleted.
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
