import { isTieredError, systemClock, type Clock, type Hierarchy, type HierarchyEvents } from '@tiered/core';
import { placeInOrder } from '@tiered/tiering';

/** Objects that are placed, and that are looked at, between two turns of the event loop. */
const PLACED_AT_ONCE = 100;
const LOOKED_AT_ONCE = 10_000;

/**
 * Places objects that no program is seen to open: in the order in which the source lists them, as long as
 * there is room for them. An object that has lost its copy, because that was damaged or outdated, is placed
 * again.
 *
 * An object without room, or with a copy, costs some nanoseconds.
 */
export class Filling {
  readonly #hierarchy: Hierarchy;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  /** Whether all objects are to be gone through, and whether copies are being deleted before that. */
  #isDue = false;
  #isRoomComing = false;
  #isFilling = false;
  #last: Promise<void> = Promise.resolve();

  constructor(hierarchy: Hierarchy, clock: Clock = systemClock) {
    this.#hierarchy = hierarchy;
    this.#clock = clock;
    hierarchy.on('dropped', this.#dropped);
  }

  /** Begins to place what has no copy; once more if that is being done. */
  begin(): void {
    this.#isDue = true;
    if (this.#isFilling || this.#closing.signal.aborted) return;
    this.#isFilling = true;
    this.#last = this.#fill();
  }

  /** Resolves when all is placed that there is room for. */
  idle(): Promise<void> {
    return this.#last;
  }

  /** Begins no more objects. */
  async close(): Promise<void> {
    this.#hierarchy.off('dropped', this.#dropped);
    this.#closing.abort();
    await this.#last;
  }

  readonly #dropped: HierarchyEvents['dropped'] = ({ reason }) => {
    // Who evicts wants other objects there.
    if (reason === 'evicted') return;
    this.#isRoomComing = true;
    this.begin();
  };

  async #fill(): Promise<void> {
    const { signal } = this.#closing;
    try {
      while (this.#isDue) {
        this.#isDue = false;
        if (this.#isRoomComing) {
          this.#isRoomComing = false;
          await this.#hierarchy.idle({ signal });
        }
        await placeInOrder(this.#hierarchy, this.#keys(signal), { signal });
      }
    } catch (error) {
      // What goes wrong with the source or a tier is said by events of the hierarchy.
      if (!signal.aborted && !isTieredError(error)) throw error;
    } finally {
      this.#isFilling = false;
    }
  }

  /** The keys of objects that have no copy, and that there is room for. */
  async *#keys(signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    const { namespace } = this.#hierarchy;
    const sourceLevel = this.#hierarchy.stats().tiers.length;
    let room = this.#room();
    let placed = 0;
    for (let id = 0; id < namespace.count; id++) {
      if (placed === PLACED_AT_ONCE || id % LOOKED_AT_ONCE === 0) {
        placed = 0;
        // All of it may be decided without a look at a disk, and others wait for their turn.
        await this.#clock.turn();
        signal.throwIfAborted();
        room = this.#room();
      }
      if (!namespace.isKnown(id)) continue;
      if (namespace.levelOf(id) < sourceLevel || namespace.sizeOf(id) > room) continue;
      room = this.#room();
      if (namespace.sizeOf(id) > room) continue;
      placed += 1;
      yield namespace.keyOf(id);
    }
  }

  /** Bytes of the largest copy that a tier can have. */
  #room(): number {
    const { tiers } = this.#hierarchy.stats();
    return Math.max(
      ...tiers.map(({ quotaBytes, usedBytes, reservedBytes }) => quotaBytes - usedBytes - reservedBytes),
    );
  }
}
