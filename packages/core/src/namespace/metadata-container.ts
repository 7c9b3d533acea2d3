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
/** The seventh bit: what is on the level may be a part, or not verified yet. */
const NOT_DIRECT = 64;
/** In place of the size of an object that is gone. */
const GONE = -1;

/**
 * The namespace, for reading only. `find` gives an id, or -1. Every other method takes an id that was found.
 */
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
 * The namespace: every known object's size, version and level. An entry has a small whole number as its
 * **id**, from 0 in the order in which objects were first put, valid as long as the container. Readers look a
 * key up once and use the id from then on. An object that is gone keeps its entry: it is found no more, and
 * has its id again if it comes back.
 *
 * **Problem.** Fourteen million objects (ImageNet-22k) as objects and strings of JavaScript take gigabytes,
 * and minutes of the garbage collector's time. Every read needs a look-up, and a RAM tier serves millions of
 * reads a second.
 *
 * **Parts.** No object, string or array belongs to an entry. The *record arena* has key and version as bytes.
 * *Paged columns* have the reference of the record, the size, and the level, by id. The *key index* finds the
 * record of a key. It is a hash table of references, with some bits of the hash beside each, so that other
 * keys are hardly ever looked at. The record has the id too. Arena and columns are *pages* of a fixed size:
 * growing adds a page, and never copies what is there. The *image* is those pages, lent to whoever saves them
 * (`saveManifest`).
 *
 * **Invariants.** Ids below `count` have a record, a size and a level. `find` finds each of them by its key,
 * unless it is gone, and finds nothing else. An image does not change, whatever is put while it is being
 * saved.
 *
 * **Bytes of an entry**: record 10 + key + version, rounded up to a multiple of 4 (a character is one byte,
 * or two in a string that has one above U+00FF); reference 4; size 8; level 1; index 6 to 12, and 6 more
 * while it grows. With a key of 40 bytes and a version of 22 that is 91 to 97; `npm run bench -- namespace`
 * measures it.
 *
 * **Cost.** `find` hashes the key and compares it once. That takes some 0.1 us for 40 characters in a small
 * namespace. In a large one it takes two accesses, one after the other, to memory that is in no cache.
 * Nothing but `keyOf`, `versionOf`, `objectOf` and `describe` allocates.
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
   * @param sourceLevel The level of the source, where every object is until it is placed: the number of
   * tiers, 63 at most.
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
   * Makes a container with the entries of an image, all of them at the source's level. The image is taken,
   * not copied, so nobody else may use it from then on. It may come from anywhere, and everything in it is
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
      // This only lets other work have its turn. It waits for no time, so it needs no injected clock.
      await systemClock.turn();
    }
    return container;
  }

  /** The level of the source, see the constructor. */
  get sourceLevel(): number {
    return this.#sourceLevel;
  }

  /** How many ids it has given out, those of objects that are gone too. All ids are below this. */
  get count(): number {
    return this.#count;
  }

  /** How many objects it knows. */
  get known(): number {
    return this.#known;
  }

  /** Sum of the sizes of all objects, in bytes: the dataset's size once it was scanned. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sum of the sizes of the objects that are on no tier, in bytes. */
  get sourceBytes(): number {
    return this.#sourceBytes;
  }

  /** Returns the id of a key, or `ABSENT`. Allocates nothing. */
  find(key: string): number {
    // Programs in JavaScript may pass any value.
    if (typeof key !== 'string' || key.length > LONGEST_TEXT) return ABSENT;
    const id = this.#index.find(hashOfString(key), key);
    return id !== ABSENT && this.#sizes.get(id) === GONE ? ABSENT : id;
  }

  /** Whether the object of an id is there, as far as is known. False for one that is gone. */
  isKnown(id: number): boolean {
    this.#assertKnown(id);
    return this.#sizes.get(id) !== GONE;
  }

  /**
   * Notes that an object is gone from the source. Its id stays its own: `put` makes it known again. No copy
   * of it is served any more.
   */
  remove(id: number): void {
    if (!this.isKnown(id)) return;
    this.#grew(id, -this.#sizes.get(id));
    this.#known -= 1;
    this.#sizes.set(id, GONE);
  }

  /**
   * Adds an object at the source's level, or renews size and version of one that has an id. Returns the id. A
   * version replaces in place one that has as many bytes or more. `RecordArena` says what longer versions
   * leave behind.
   * @throws TypeError for what is not a description of an object, which is a bug of the driver.
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

  /** Returns the key of an object. Makes a new text. */
  keyOf(id: number): string {
    this.#assertKnown(id);
    return this.#records.keyAt(this.#references.get(id));
  }

  /** Returns the size of an object in bytes; 0 for one that is gone. */
  sizeOf(id: number): number {
    this.#assertKnown(id);
    return Math.max(0, this.#sizes.get(id));
  }

  /** Returns the version of an object in the source, as it is known. Makes a new text. */
  versionOf(id: number): string {
    this.#assertKnown(id);
    return this.#records.versionAt(this.#references.get(id));
  }

  /** Returns all that is known of the object now; see `ObjectRef`. */
  objectOf(id: number): ObjectRef {
    return { id, key: this.keyOf(id), size: this.sizeOf(id), version: this.versionOf(id) };
  }

  /** Returns the fastest level that holds the object or a part of it. */
  levelOf(id: number): number {
    this.#assertKnown(id);
    return this.#levels.get(id) & MAX_LEVEL;
  }

  /**
   * Returns the level that any part of the object may be read from without asking the placement: that of
   * `levelOf` if all of the object is there and was verified, else the source's.
   */
  directLevelOf(id: number): number {
    this.#assertKnown(id);
    const level = this.#levels.get(id);
    return level <= MAX_LEVEL ? level : this.#sourceLevel;
  }

  /**
   * Sets where the object is.
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

  /** Counts bytes that an object has come to have, or has lost. */
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

  /** An id that was never given out is a bug, even where the columns have room for it. */
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
