import { invariant } from './errors.js';
import type { ObjectStat } from './driver.js';

/** What `MetadataContainer.find` answers for a key it does not hold. */
export const ABSENT = -1;

const INITIAL_CAPACITY = 1024;
/** A level and a flag are stored in one byte. */
const MAX_LEVEL = 63;
const NOT_DIRECT = 64;

/** The namespace for those who only look. `find` gives an id, or -1; every other method takes one that was found. */
export type Namespace = Pick<
  MetadataContainer,
  'count' | 'bytes' | 'find' | 'keyOf' | 'sizeOf' | 'versionOf' | 'levelOf' | 'directLevelOf' | 'describe'
>;

/**
 * The namespace: every known object's size, version and level. An entry has a small whole number as its **id**,
 * valid as long as the container; readers look a key up once and use the id from then on, which allocates nothing.
 *
 * Columns are typed arrays that double when full; only key and version are objects of their own. The methods are
 * the contract: what is behind them may become more compact without their callers noticing.
 */
export class MetadataContainer {
  readonly #ids = new Map<string, number>();
  readonly #keys: string[] = [];
  readonly #versions: string[] = [];
  #sizes = new Float64Array(INITIAL_CAPACITY);
  #levels = new Int8Array(INITIAL_CAPACITY);
  readonly #sourceLevel: number;
  #bytes = 0;

  /** @param sourceLevel The level of the source, where every object is until it is placed: the number of tiers. */
  constructor(sourceLevel: number) {
    invariant(
      sourceLevel >= 0 && sourceLevel <= MAX_LEVEL,
      `source level ${sourceLevel} is not in 0..${MAX_LEVEL}`,
    );
    this.#sourceLevel = sourceLevel;
  }

  /** How many objects it knows. */
  get count(): number {
    return this.#keys.length;
  }

  /** Sum of the sizes of all objects, in bytes: the dataset's size once it was scanned. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The id of a key, or `ABSENT`. */
  find(key: string): number {
    return this.#ids.get(key) ?? ABSENT;
  }

  /** Adds an object at the source's level, or renews size and version of one it knows. Returns the id. */
  put({ key, size, version }: ObjectStat): number {
    if (
      typeof key !== 'string' ||
      typeof version !== 'string' ||
      !(Number.isSafeInteger(size) && size >= 0)
    ) {
      throw new TypeError(
        `A driver described ${JSON.stringify({ key, size, version })}: stat() and list() must give a key, ` +
          `a size in bytes and a version, which is a string too.`,
      );
    }
    const known = this.#ids.get(key);
    const id = known ?? this.#append(key);
    this.#bytes += size - (known === undefined ? 0 : this.sizeOf(id));
    this.#sizes[id] = size;
    this.#versions[id] = version;
    return id;
  }

  keyOf(id: number): string {
    return this.#known(id, this.#keys);
  }

  /** Bytes. */
  sizeOf(id: number): number {
    return this.#known(id, this.#sizes);
  }

  versionOf(id: number): string {
    return this.#known(id, this.#versions);
  }

  /** The fastest level that holds the object, or a part of it. */
  levelOf(id: number): number {
    return this.#known(id, this.#levels) & MAX_LEVEL;
  }

  /** The level that may be read without asking anybody: the source's, if the copy is only partial or not yet trusted. */
  directLevelOf(id: number): number {
    const level = this.#known(id, this.#levels);
    return level < NOT_DIRECT ? level : this.#sourceLevel;
  }

  setLevel(id: number, level: number, direct = true): void {
    this.#known(id, this.#levels);
    invariant(level >= 0 && level <= this.#sourceLevel, `level ${level} is not in 0..${this.#sourceLevel}`);
    this.#levels[id] = direct ? level : level | NOT_DIRECT;
  }

  /** An entry as an object, for listings and tests. */
  describe(id: number): ObjectStat & { readonly level: number } {
    return {
      key: this.keyOf(id),
      size: this.sizeOf(id),
      version: this.versionOf(id),
      level: this.levelOf(id),
    };
  }

  #append(key: string): number {
    const id = this.#keys.length;
    if (id === this.#sizes.length) this.#grow();
    this.#keys.push(key);
    this.#ids.set(key, id);
    this.#levels[id] = this.#sourceLevel;
    return id;
  }

  #grow(): void {
    const sizes = new Float64Array(this.#sizes.length * 2);
    sizes.set(this.#sizes);
    this.#sizes = sizes;
    const levels = new Int8Array(this.#levels.length * 2);
    levels.set(this.#levels);
    this.#levels = levels;
  }

  /** The entry of a column; an id that was never given out is a bug, also where the column has room for it. */
  #known<T>(id: number, column: { readonly [index: number]: T }): T {
    const value = id < this.#keys.length ? column[id] : undefined;
    if (value !== undefined) return value;
    throw new Error(
      `tiered: no entry with id ${id} in the namespace. This is a bug in tiered; please report it.`,
    );
  }
}
