import type { Namespace } from '@tiered/core';
import { configError } from '@tiered/core/internal';

/** The position of what is not opened any more. */
export const NEVER = 0xffffffff;
/**
 * Opens by which programs may be ahead of others, or leave out what is planned: what 8 workers with two
 * batches of 256 each have begun, twice.
 */
const DISORDER = 8192;

/**
 * Which objects programs will open, in order, and how far they have come.
 *
 * Workers of a loader open files in nearly this order, and a program may leave some out. So each open counts
 * as the next planned one of its object, and the plan is done up to the first that was not opened, unless
 * that is long ago.
 *
 * Costs 9 bytes for each open, and 8 for each object.
 */
export class Plan {
  readonly sequence: Uint32Array;
  /** By position: when the object of that open is opened again. */
  readonly next: Uint32Array;
  /** By object: its next open that was not seen yet. */
  readonly #due: Uint32Array;
  readonly #isDone: Uint8Array;
  #position = 0;
  #farthest = 0;

  /**
   * @param keys In the order of their opens. Those that the namespace does not know are left out.
   * @throws TieredError `TIERED_CONFIG_INVALID` if it knows none.
   */
  static async from(keys: AsyncIterable<string>, namespace: Namespace): Promise<Plan> {
    let sequence = new Uint32Array(1024);
    let length = 0;
    for await (const key of keys) {
      const id = namespace.find(key);
      if (id < 0) continue;
      if (length === sequence.length) {
        const larger = new Uint32Array(2 * length);
        larger.set(sequence);
        sequence = larger;
      }
      sequence[length++] = id;
    }
    if (length === 0) throw configError('replay', 'opens of objects of this source', 'none');
    return new Plan(sequence.slice(0, length), namespace.count);
  }

  private constructor(sequence: Uint32Array, objects: number) {
    this.sequence = sequence;
    this.next = new Uint32Array(sequence.length);
    this.#due = new Uint32Array(objects).fill(NEVER);
    this.#isDone = new Uint8Array(sequence.length);
    for (let position = sequence.length - 1; position >= 0; position--) {
      const id = sequence[position] ?? 0;
      this.next[position] = this.#due[id] ?? NEVER;
      this.#due[id] = position;
    }
  }

  /** All opens before this one were seen, or will not be. */
  get position(): number {
    return this.#position;
  }

  /** When an object is opened next; `NEVER` if that is not planned. */
  dueOf(id: number): number {
    return this.#due[id] ?? NEVER;
  }

  /** An object was opened. False if that was not planned. */
  opened(id: number): boolean {
    const position = this.dueOf(id);
    if (position === NEVER) return false;
    this.#due[id] = this.next[position] ?? NEVER;
    this.#isDone[position] = 1;
    this.#farthest = Math.max(this.#farthest, position);
    while (this.#isDone[this.#position] === 1 || this.#position < this.#farthest - DISORDER)
      this.#position += 1;
    return true;
  }
}
