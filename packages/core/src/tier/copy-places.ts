import type { MetadataContainer } from '../namespace/metadata-container.js';
import type { CopyPlace } from '../placement/placement.js';
import { copyName } from './copy-name.js';
import { isPacked, segmentName, segmentOf } from './packed-tag.js';

/** Ids per page, as a power of two: 64 Ki tags are 512 KiB. */
const PAGE_BITS = 16;
const PAGE_ENTRIES = 2 ** PAGE_BITS;
/** Names cached as strings, so that a small dataset does not rebuild them for each read. */
const KEPT = 8192;
const NO_TAG = -1;

/** The places of copies on their tiers, in 8 bytes per object instead of a string each. */
export class CopyNames {
  readonly #pages = new Map<number, Float64Array>();
  readonly #kept = new Map<number, string>();
  /** Names of segments. Many copies share a segment. */
  readonly #segments = new Map<number, string>();

  /**
   * Sets the tag that, together with the key, names the copy of an object. Without a tag, the name is the
   * key.
   */
  set(id: number, tag: number | undefined): void {
    this.#kept.delete(id);
    let page = this.#pages.get(id >>> PAGE_BITS);
    if (page === undefined) {
      if (tag === undefined) return;
      this.#pages.set(id >>> PAGE_BITS, (page = new Float64Array(PAGE_ENTRIES).fill(NO_TAG)));
    }
    page[id & (PAGE_ENTRIES - 1)] = tag ?? NO_TAG;
  }

  /** Returns the tag of an object's copy; undefined if its name is the key. */
  tagOf(id: number): number | undefined {
    const tag = this.#pages.get(id >>> PAGE_BITS)?.[id & (PAGE_ENTRIES - 1)] ?? NO_TAG;
    return tag === NO_TAG ? undefined : tag;
  }

  /**
   * Returns the name of the file that contains an object's copy.
   * @param tag As returned by `tagOf`.
   */
  fileOf(id: number, key: string, tag: number | undefined): string {
    if (tag === undefined) return key;
    if (isPacked(tag)) return this.#segment(segmentOf(tag));
    const known = this.#kept.get(id);
    if (known !== undefined) return known;
    if (this.#kept.size >= KEPT) this.#kept.clear();
    const name = copyName(key, tag);
    this.#kept.set(id, name);
    return name;
  }

  #segment(segment: number): string {
    const known = this.#segments.get(segment);
    if (known !== undefined) return known;
    if (this.#segments.size >= KEPT) this.#segments.clear();
    const name = segmentName(segment);
    this.#segments.set(segment, name);
    return name;
  }
}

/**
 * The place of the served copy of each object: its level and its name. The placement sets it, and reads look
 * it up.
 */
export class CopyPlaces {
  readonly #namespace: MetadataContainer;
  readonly #sourceLevel: number;
  readonly #names = new CopyNames();

  readonly #moved: (id: number, place: CopyPlace | undefined) => void;

  /**
   * @param sourceLevel The level of objects without a copy.
   * @param moved Called on each change.
   */
  constructor(
    namespace: MetadataContainer,
    sourceLevel: number,
    moved: (id: number, place: CopyPlace | undefined) => void,
  ) {
    this.#namespace = namespace;
    this.#sourceLevel = sourceLevel;
    this.#moved = moved;
  }

  /** Serves the object, or the part of it that this copy holds, from this copy from now on. */
  publish(id: number, place: CopyPlace): void {
    const { level, direct, tag } = place;
    this.#names.set(id, tag);
    this.#namespace.setLevel(id, level, direct);
    this.#moved(id, place);
  }

  /** Serves the object from the source from now on. */
  withdraw(id: number): void {
    this.#names.set(id, undefined);
    this.#namespace.setLevel(id, this.#sourceLevel);
    this.#moved(id, undefined);
  }

  /** The place of the served copy of an object; undefined for the source. */
  placeOf(id: number): CopyPlace | undefined {
    const level = this.#namespace.levelOf(id);
    if (level === this.#sourceLevel) return undefined;
    return { level, direct: this.#namespace.directLevelOf(id) === level, tag: this.tagOf(id) };
  }

  /**
   * Returns the tag that distinguishes the served copy of an object from any other; undefined if the key
   * alone does.
   */
  tagOf(id: number): number | undefined {
    return this.#names.tagOf(id);
  }

  /**
   * Returns the file on its tier that contains an object's copy.
   * @param tag As returned by `tagOf`.
   */
  fileOf(id: number, key: string, tag: number | undefined): string {
    return this.#names.fileOf(id, key, tag);
  }

  /** Whether this is still the served copy. */
  isAt(level: number, id: number, tag: number | undefined): boolean {
    return this.#namespace.levelOf(id) === level && this.tagOf(id) === tag;
  }
}
