import { systemClock } from '../support/clock.js';
import type { ObjectStat } from '../driver/driver.js';
import { invariant, TieredError } from '../support/errors.js';
import type { NamespaceImage } from './image.js';
import { hashOfString } from './key-hash.js';
import { KeyIndex } from './key-index.js';
import type { ObjectRef } from './object-ref.js';
import { PAGE_ENTRIES, PagedColumn } from './pages.js';
import { ABSENT, LONGEST_TEXT, RecordArena } from './record-arena.js';

export { ABSENT };

/** The highest level. A level takes six bits of its byte. */
const MAX_LEVEL = 63;
/** The seventh bit: the copy on the level may be partial, or not verified yet. */
const NOT_DIRECT = 64;
/** Marks a removed object, in place of its size. */
const GONE = -1;

/** A read-only namespace. `find` returns an id, or -1. Every other method takes an id that was found. */
export type Namespace = Pick<
  MetadataContainer,
  | 'count'
  | 'known'
  | 'bytes'
  | 'sourceBytes'
  | 'find'
  | 'isKnown'
  | 'keyOf'
  | 'sizeOf'
  | 'versionOf'
  | 'objectOf'
  | 'levelOf'
  | 'directLevelOf'
  | 'describe'
>;

/**
 * The namespace: size, version and level of every known object. Each entry has a small whole number as its
 * **id**, assigned from 0 in the order in which objects were first put, and valid as long as the container.
 * Readers look a key up once and use the id from then on. A removed object keeps its entry: `find` no longer
 * finds it, and it has its id again if it comes back.
 *
 * **Problem.** Fourteen million objects (ImageNet-22k) as JavaScript objects and strings take gigabytes, and
 * minutes of garbage collection. Every read needs a look-up, and a RAM tier serves millions of reads a
 * second.
 *
 * **Parts.** Entries have no object, string or array of their own. The *record arena* stores key and version
 * as bytes. *Paged columns* store the record reference, the size and the level, by id. The *key index* finds
 * the record of a key. It is a hash table of references, with some bits of the hash beside each, so that
 * records of other keys are hardly ever read. The record holds the id too. Arena and columns are *pages* of a
 * fixed size: growing adds a page, and never copies existing ones. The *image* is those pages, lent for
 * saving them (`saveManifest`).
 *
 * **Invariants.** Ids below `count` have a record, a size and a level. `find` finds each of them by its key,
 * unless the object was removed, and finds nothing else. An image does not change, even if objects are put
 * while it is being saved.
 *
 * **Bytes of an entry**: record 10 + key + version, rounded up to a multiple of 4 (one byte per character, or
 * two in a string with a character above U+00FF); reference 4; size 8; level 1; index 6 to 12, and 6 more
 * while it grows. With a key of 40 bytes and a version of 22 that is 91 to 97; `npm run bench -- namespace`
 * measures it.
 *
 * **Cost.** `find` hashes the key and compares it once. That takes some 0.1 us for 40 characters in a small
 * namespace. In a large one it takes two dependent memory accesses that miss every cache. Only `keyOf`,
 * `versionOf`, `objectOf` and `describe` allocate.
 */
export class MetadataContainer {
  readonly #sourceLevel: number;
  readonly #records: RecordArena;
  readonly #references: PagedColumn<Uint32Array>;
  readonly #sizes: PagedColumn<Float64Array>;
  readonly #levels = new PagedColumn((length) => new Uint8Array(length));
  readonly #index: KeyIndex;
  #count = 0;
  #known = 0;
  #bytes = 0;
  #sourceBytes = 0;

  /**
   * @param sourceLevel The level of the source, and of every object that is not placed: the number of tiers,
   * at most 63.
   * @param image The image that `restore` is about to take in.
   */
  constructor(sourceLevel: number, image?: NamespaceImage) {
    invariant(
      sourceLevel >= 0 && sourceLevel <= MAX_LEVEL,
      `source level ${sourceLevel} is not in 0..${MAX_LEVEL}`,
    );
    this.#sourceLevel = sourceLevel;
    this.#records = new RecordArena(image?.records, image?.recordBytes);
    this.#references = new PagedColumn((length) => new Uint32Array(length), image?.references);
    this.#sizes = new PagedColumn((length) => new Float64Array(length), image?.sizes);
    this.#index = new KeyIndex(this.#records, (id) => this.#references.get(id), image?.count);
  }

  /**
   * Makes a container from the entries of an image, all of them at the source's level. The image is taken
   * over, not copied, and must not be used afterwards. It may come from anywhere, so everything in it is
   * checked.
   * @throws TieredError `TIERED_DATA_CORRUPT` if it is not the image of a container. Abort rejects with
   * `signal.reason`.
   */
  static async restore(
    image: NamespaceImage,
    sourceLevel: number,
    signal: AbortSignal | undefined,
  ): Promise<MetadataContainer> {
    const container = new MetadataContainer(sourceLevel, image);
    while (container.count < image.count) {
      signal?.throwIfAborted();
      container.#takeIn(Math.min(container.count + PAGE_ENTRIES, image.count));
      // This only yields to other work. It does not wait for time to pass, so it needs no injected clock.
      await systemClock.turn();
    }
    return container;
  }

  /** The level of the source, see the constructor. */
  get sourceLevel(): number {
    return this.#sourceLevel;
  }

  /** How many ids were assigned, including those of removed objects. All ids are below this. */
  get count(): number {
    return this.#count;
  }

  /** How many objects it knows. */
  get known(): number {
    return this.#known;
  }

  /** Total size of all objects in bytes: the dataset's size once it was scanned. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Total size of the objects that are on no tier, in bytes. */
  get sourceBytes(): number {
    return this.#sourceBytes;
  }

  /** Returns the id of a key, or `ABSENT`. Allocates nothing. */
  find(key: string): number {
    // JavaScript programs may pass any value.
    if (typeof key !== 'string' || key.length > LONGEST_TEXT) return ABSENT;
    const id = this.#index.find(hashOfString(key), key);
    return id !== ABSENT && this.#sizes.get(id) === GONE ? ABSENT : id;
  }

  /** Whether the object of an id exists, as far as is known. False for a removed object. */
  isKnown(id: number): boolean {
    this.#assertKnown(id);
    return this.#sizes.get(id) !== GONE;
  }

  /**
   * Removes an object that is gone from the source. It keeps its id, and `put` makes it known again. Its
   * copies are no longer served.
   */
  remove(id: number): void {
    if (!this.isKnown(id)) return;
    this.#grew(id, -this.#sizes.get(id));
    this.#known -= 1;
    this.#sizes.set(id, GONE);
  }

  /**
   * Adds an object at the source's level, or updates size and version of a known one. Returns the id. A
   * version is overwritten in place if the old one has at least as many bytes. `RecordArena` says what longer
   * versions leave behind.
   * @throws TypeError for a value that is not a description of an object, which is a bug of the driver.
   * @throws TieredError `TIERED_NO_SPACE` beyond some 200 million objects.
   */
  put(object: ObjectStat): number {
    assertDescribed(object);
    const { key, size, version } = object;
    const hash = hashOfString(key);
    const known = this.#index.find(hash, key);
    if (known !== ABSENT) {
      this.#renew(known, size, version);
      return known;
    }
    const id = this.#count;
    const reference = this.#records.append(id, key, version);
    this.#references.set(id, reference);
    this.#sizes.set(id, size);
    this.#levels.set(id, this.#sourceLevel);
    this.#index.add(hash, reference);
    this.#count = id + 1;
    this.#known += 1;
    this.#grew(id, size);
    return id;
  }

  /** Returns the key of an object. Allocates a string. */
  keyOf(id: number): string {
    this.#assertKnown(id);
    return this.#records.keyAt(this.#references.get(id));
  }

  /** Returns the size of an object in bytes; 0 for a removed one. */
  sizeOf(id: number): number {
    this.#assertKnown(id);
    return Math.max(0, this.#sizes.get(id));
  }

  /** Returns the known version of an object in the source. Allocates a string. */
  versionOf(id: number): string {
    this.#assertKnown(id);
    return this.#records.versionAt(this.#references.get(id));
  }

  /** Returns everything that is currently known of the object; see `ObjectRef`. */
  objectOf(id: number): ObjectRef {
    return { id, key: this.keyOf(id), size: this.sizeOf(id), version: this.versionOf(id) };
  }

  /** Returns the fastest level that holds the object or a part of it. */
  levelOf(id: number): number {
    this.#assertKnown(id);
    return this.#levels.get(id) & MAX_LEVEL;
  }

  /**
   * Returns the level that any part of the object may be read from without asking the placement: `levelOf` if
   * the whole object is there and verified, else the source's level.
   */
  directLevelOf(id: number): number {
    this.#assertKnown(id);
    const level = this.#levels.get(id);
    return level <= MAX_LEVEL ? level : this.#sourceLevel;
  }

  /**
   * Sets the level of an object.
   * @param id The object.
   * @param level The fastest level that holds the object or a part of it.
   * @param direct Whether all of it is there, verified, and may be read from there directly. Default: true.
   */
  setLevel(id: number, level: number, direct = true): void {
    this.#assertKnown(id);
    invariant(level >= 0 && level <= this.#sourceLevel, `level ${level} is not in 0..${this.#sourceLevel}`);
    if (this.levelOf(id) === this.#sourceLevel) this.#sourceBytes -= this.sizeOf(id);
    if (level === this.#sourceLevel) this.#sourceBytes += this.sizeOf(id);
    this.#levels.set(id, direct ? level : level | NOT_DIRECT);
  }

  /** Returns an entry as an object, for listings and tests. */
  describe(id: number): ObjectStat & { readonly level: number } {
    return {
      key: this.keyOf(id),
      size: this.sizeOf(id),
      version: this.versionOf(id),
      level: this.levelOf(id),
    };
  }

  /** Returns all entries as they are now, without their levels. Costs nothing until one of them changes. */
  image(): NamespaceImage {
    return {
      count: this.#count,
      recordBytes: this.#records.usedBytes,
      references: this.#references.lend(),
      sizes: this.#sizes.lend(),
      records: this.#records.lend(),
    };
  }

  #renew(id: number, size: number, version: string): void {
    const reference = this.#references.get(id);
    if (!this.#records.hasVersion(reference, version)) {
      const renewed = this.#records.renew(reference, version);
      if (renewed !== reference) this.#references.set(id, renewed);
    }
    const oldSize = this.#sizes.get(id);
    if (size === oldSize) return;
    this.#sizes.set(id, size);
    if (oldSize === GONE) this.#known += 1;
    this.#grew(id, size - Math.max(0, oldSize));
  }

  /** Accounts for bytes that an object has gained or lost. */
  #grew(id: number, bytes: number): void {
    this.#bytes += bytes;
    if (this.levelOf(id) === this.#sourceLevel) this.#sourceBytes += bytes;
  }

  /** Takes in the next entries of the image, up to `end`. */
  #takeIn(end: number): void {
    for (let id = this.#count; id < end; id++) {
      const size = this.#sizes.get(id);
      const isGone = size === GONE;
      if (!(isGone || isSize(size)) || !this.#records.isRecordOf(id, this.#references.get(id)))
        throw noImage(`entry ${id} is none`);
      this.#levels.set(id, this.#sourceLevel);
      if (isGone) continue;
      this.#known += 1;
      this.#bytes += size;
      this.#sourceBytes += size;
    }
    if (!this.#index.addUpTo(end)) throw noImage('two entries have one key');
    this.#count = end;
  }

  /** An id that was never assigned is a bug, even if the columns have room for it. */
  #assertKnown(id: number): void {
    if (id >= 0 && id < this.#count) return;
    throw new Error(
      `tiered: no entry with id ${id} in the namespace. This is a bug in tiered; please report it.`,
    );
  }
}

function isSize(size: number): boolean {
  return Number.isSafeInteger(size) && size >= 0;
}

function isText(text: unknown): boolean {
  return typeof text === 'string' && text.length <= LONGEST_TEXT;
}

function assertDescribed({ key, size, version }: ObjectStat): void {
  if (isText(key) && isText(version) && isSize(size)) return;
  throw new TypeError(
    `A driver described ${JSON.stringify({ key, size, version }).slice(0, 1000)}: stat() and list() must give a key, ` +
      `a size in bytes and a version, which is a string too, of at most ${LONGEST_TEXT} characters each.`,
  );
}

function noImage(what: string): TieredError {
  return new TieredError('TIERED_DATA_CORRUPT', `A saved namespace is not what was saved: ${what}.`);
}
