/**
 * A Map of what lives shortly. When a Map has to make itself a new table, V8 keeps the old one and what was in it at
 * that moment, and the old one keeps the new one; once the first is old memory, all that comes and goes here lives
 * until the next collection of everything. Here the table has numbers only, and the values are in an array, which
 * forgets what is overwritten.
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

  /** In the order in which their keys came. */
  values(): V[] {
    return [...this.#slots.values()].map((slot) => this.#values[slot] as V);
  }
}
