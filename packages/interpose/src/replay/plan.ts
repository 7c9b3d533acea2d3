import type { Namespace } from '@tiered/core';
import { configError } from '@tiered/core/internal';

/** The position of what is not opened any more. */
export const NEVER = 0xffffffff;
/**
 * Opens that may be out of place at most: what 8 workers with two batches of 256 each have begun, twice. With
 * few objects it is less, a part of these.
 */
const MOST_DISORDER = 8192;
const DISORDER = 1 / 4;
/**
 * Different objects that have to be opened in another part of the plan before programs are taken to be there:
 * that these are planned around one position by chance is next to impossible. Fewer with few objects, as
 * they have to be found within the disorder.
 */
const STRAYS = 64;

/**
 * Which objects programs will open, in order, and how far they have come.
 *
 * Workers of a loader open files in nearly this order. So each open counts as the next planned one of its
 * object, if that is about where programs are, and the plan is done up to the first that was not seen.
 *
 * A program may leave opens out, and messages of programs may be lost. An open is left out once more later
 * ones were seen than can be out of place: 8192, or a quarter of the objects if that is less. An epoch opens
 * each object once, so most are opened again only when their open before has been seen or left out, and the
 * two are not taken for each other. An open that was left out and comes after all changes nothing.
 *
 * An open that is planned for much later is a stray: another program does something else, or the same one is
 * in another part of the plan. It does not count, so that the plan is not done up to there because of one
 * open. When most opens are strays, and all are planned around one position, programs are there.
 *
 * Costs 9 bytes for each open, and 8 for each object.
 */
export class Plan {
  readonly sequence: Uint32Array;
  /** By position: when the object of that open is opened again. */
  readonly next: Uint32Array;
  /** Opens from the beginning after which each object was opened. */
  readonly span: number;
  /** Opens that may be out of place. */
  readonly disorder: number;
  /** By object: its first open that was neither seen nor left out. Never before the position. */
  readonly #due: Uint32Array;
  /** By object: its last open that was left out. */
  readonly #leftOut: Uint32Array;
  readonly #isSeen: Uint8Array;
  #position = 0;
  /** Opens from the position on that were seen. */
  #ahead = 0;
  /** Objects that were opened elsewhere since a while ago, the latest last, and opens in place since then. */
  readonly #strays = new Set<number>();
  #inPlace = 0;
  readonly #mostStrays: number;

  /**
   * @param keys In the order of their opens. Those that the namespace does not know are left out.
   * @throws TieredError `TIERED_CONFIG_INVALID` if it knows none.
   */
  static async from(
    keys: AsyncIterable<string>,
    namespace: Pick<Namespace, 'find' | 'count'>,
  ): Promise<Plan> {
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
    this.#leftOut = new Uint32Array(objects).fill(NEVER);
    this.#isSeen = new Uint8Array(sequence.length);
    for (let position = sequence.length - 1; position >= 0; position--) {
      const id = sequence[position] ?? 0;
      this.next[position] = this.dueOf(id);
      this.#due[id] = position;
    }
    let [planned, last] = [0, 0];
    for (const due of this.#due) if (due !== NEVER) [planned, last] = [planned + 1, Math.max(last, due)];
    this.span = last + 1;
    this.disorder = Math.min(MOST_DISORDER, Math.ceil(planned * DISORDER));
    this.#mostStrays = Math.min(STRAYS, Math.ceil(this.disorder / 2));
  }

  /** All opens before this one were seen, or left out. */
  get position(): number {
    return this.#position;
  }

  /** How many opens were seen, or left out: about where programs are, also if one of them lags behind. */
  get reached(): number {
    return this.#position + this.#ahead;
  }

  /** When an object is opened next; `NEVER` if that is not planned. */
  dueOf(id: number): number {
    return this.#due[id] ?? NEVER;
  }

  /** An object was opened. False if that was not planned, or not here. */
  opened(id: number): boolean {
    const due = this.dueOf(id);
    const isHere = due <= this.reached + this.disorder;
    if (this.#isLate(id, due)) this.#leftOut[id] = NEVER;
    else if (isHere) this.#see(id, due);
    else if (due === NEVER) return false;
    else return this.#stray(id);
    this.#inPlace += 1;
    if (this.#inPlace >= this.#mostStrays) this.#forgetStrays();
    return true;
  }

  /** Whether it is an open that was left out a while ago, rather than the next one. */
  #isLate(id: number, due: number): boolean {
    const since = this.reached - (this.#leftOut[id] ?? NEVER);
    return since >= 0 && since <= 2 * this.disorder && since < due - this.reached;
  }

  #see(id: number, position: number): void {
    this.#due[id] = this.next[position] ?? NEVER;
    this.#isSeen[position] = 1;
    this.#ahead += 1;
    while (this.#isSeen[this.#position] === 1 || this.#ahead > this.disorder) this.#pass();
  }

  /** Goes on by one open. If it was not seen, it is left out. */
  #pass(): void {
    const position = this.#position++;
    if (this.#isSeen[position] === 1) {
      this.#ahead -= 1;
      return;
    }
    const id = this.sequence[position] ?? 0;
    this.#due[id] = this.next[position] ?? NEVER;
    this.#leftOut[id] = position;
  }

  /** Whether programs are where this open is planned, as others before it were planned there too. */
  #stray(id: number): boolean {
    this.#strays.delete(id);
    this.#strays.add(id);
    if (this.#strays.size < this.#mostStrays) return false;
    const strays = [...this.#strays];
    this.#forgetStrays();
    const place = this.#placeOf(strays);
    if (place === undefined) return false;
    while (this.#position < place) this.#pass();
    for (const stray of strays) this.opened(stray);
    return true;
  }

  /** There are too few of them, or they were looked at. */
  #forgetStrays(): void {
    this.#strays.clear();
    this.#inPlace = 0;
  }

  /** The first of some opens, at the position around which these objects are planned next to each other. */
  #placeOf(ids: readonly number[]): number | undefined {
    const dues = ids.map((id) => this.dueOf(id));
    let best = { first: NEVER, distance: this.disorder + 1 };
    for (let around = dues.at(-1) ?? NEVER; around !== NEVER; around = this.next[around] ?? NEVER) {
      for (const [i, due] of dues.entries()) dues[i] = this.#nearest(due, around);
      const distance = Math.max(...dues.map((due) => Math.abs(due - around)));
      if (distance < best.distance) best = { first: Math.min(...dues), distance };
    }
    return best.first === NEVER ? undefined : best.first;
  }

  /** The open of an object that is nearest to a position, of this one and later ones. */
  #nearest(due: number, position: number): number {
    for (;;) {
      const next = this.next[due] ?? NEVER;
      if (next === NEVER || next - position > Math.abs(due - position)) return due;
      due = next;
    }
  }
}
