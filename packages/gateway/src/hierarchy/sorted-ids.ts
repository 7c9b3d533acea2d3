import type { Clock, Namespace } from '@tiered/core';
import { byteString } from '../reads/page.js';

/** Keys that are sorted at once, which takes some milliseconds. */
const RUN = 8192;

/**
 * The ids of a namespace, in the order of the UTF-8 of their keys. An id keeps its key, so only new ids have
 * to be sorted in. Takes 4 bytes per object, and as much again while ids are sorted in.
 *
 * The first call costs a sort of all keys. It yields to other work every few milliseconds: runs of keys are
 * sorted, then merged. Runs that are already in order, as those of an ordered listing, are not compared.
 */
export class SortedIds {
  readonly #namespace: Namespace;
  readonly #clock: Clock;
  readonly #goesOn: () => void;
  #sorted: Uint32Array = new Uint32Array(0);
  #underWay: Promise<Uint32Array> | undefined;

  /** @param goesOn Throws when the work has to end. */
  constructor(namespace: Namespace, clock: Clock, goesOn: () => void) {
    this.#namespace = namespace;
    this.#clock = clock;
    this.#goesOn = goesOn;
  }

  /** The key of an id, as a byte string. */
  keyOf(id: number): string {
    return byteString(this.#namespace.keyOf(id));
  }

  /**
   * Returns all ids known at the time of the call, including those of objects that are gone. Concurrent calls
   * share one sort.
   */
  async all(): Promise<Uint32Array> {
    const { count } = this.#namespace;
    while (this.#sorted.length < count) {
      this.#underWay ??= this.#extended().finally(() => {
        this.#underWay = undefined;
      });
      this.#sorted = await this.#underWay;
    }
    return this.#sorted;
  }

  async #extended(): Promise<Uint32Array> {
    const { count } = this.#namespace;
    let runs: Uint32Array[] = [];
    for (let first = this.#sorted.length; first < count; first += RUN) {
      runs.push(this.#run(first, Math.min(first + RUN, count)));
      await this.#turn();
    }
    while (runs.length > 1) {
      const merged: Uint32Array[] = [];
      for (let i = 0; i < runs.length; i += 2)
        merged.push(await this.#merged(runs[i] ?? NONE, runs[i + 1] ?? NONE));
      runs = merged;
    }
    return this.#merged(this.#sorted, runs[0] ?? NONE);
  }

  async #turn(): Promise<void> {
    await this.#clock.turn();
    this.#goesOn();
  }

  #run(first: number, end: number): Uint32Array {
    const keyed = Array.from({ length: end - first }, (_, i) => ({
      id: first + i,
      key: this.keyOf(first + i),
    }));
    keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
    return Uint32Array.from(keyed, ({ id }) => id);
  }

  async #merged(left: Uint32Array, right: Uint32Array): Promise<Uint32Array> {
    const merged = new Uint32Array(left.length + right.length);
    if (left.length === 0 || right.length === 0 || this.#isBefore(left, right)) {
      merged.set(left);
      merged.set(right, left.length);
      return merged;
    }
    const keyAt = (ids: Uint32Array, at: number) => (at < ids.length ? this.keyOf(ids[at] ?? 0) : undefined);
    let [i, j] = [0, 0];
    let [a, b] = [keyAt(left, 0), keyAt(right, 0)];
    while (i + j < merged.length) {
      if (b === undefined || (a !== undefined && a < b)) {
        merged[i + j] = left[i] ?? 0;
        a = keyAt(left, ++i);
      } else {
        merged[i + j] = right[j] ?? 0;
        b = keyAt(right, ++j);
      }
      if ((i + j) % RUN === 0) await this.#turn();
    }
    return merged;
  }

  #isBefore(left: Uint32Array, right: Uint32Array): boolean {
    return this.keyOf(left.at(-1) ?? 0) < this.keyOf(right[0] ?? 0);
  }
}

const NONE = new Uint32Array(0);
