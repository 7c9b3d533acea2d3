/**
 * A Map for short-lived values. When a Map grows into a new table, V8 keeps the old table with its content of
 * that moment, and the old table refers to the new one. Once the first table is in the old generation, all
 * later values live until the next full collection. Here the table holds only numbers. The values are in an
 * array, which keeps nothing that was overwritten.
 */
export class BriefMap<K extends string | number, V> {
  readonly #slots = new Map<K, number>();
  readonly #values: (V | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#slots.size;
  }

  has(key: K): boolean {
    return this.#slots.has(key);
  }

  get(key: K): V | undefined {
    const slot = this.#slots.get(key);
    return slot === undefined ? undefined : this.#values[slot];
  }

  set(key: K, value: V): void {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = this.#free.pop() ?? this.#values.length;
      this.#slots.set(key, slot);
    }
    this.#values[slot] = value;
  }

  delete(key: K): boolean {
    const slot = this.#slots.get(key);
    if (slot === undefined) return false;
    this.#slots.delete(key);
    this.#values[slot] = undefined;
    this.#free.push(slot);
    return true;
  }

  keys(): K[] {
    return [...this.#slots.keys()];
  }

  /** The values, in the order in which their keys were added. */
  values(): V[] {
    return [...this.#slots.values()].map((slot) => this.#values[slot] as V);
  }
}
