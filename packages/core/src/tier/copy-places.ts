import type { MetadataContainer } from '../namespace/metadata-container.js';
import type { CopyPlace } from '../placement/placement.js';
import { CopyNames } from './copy-names.js';

/**
 * Where the served copy of each object is: on which level, and under which name. The placement sets it, and
 * reads look it up.
 */
export class CopyPlaces {
  readonly #namespace: MetadataContainer;
  readonly #sourceLevel: number;
  readonly #names = new CopyNames();

  readonly #moved: (id: number, place: CopyPlace | undefined) => void;

  /**
   * @param sourceLevel The level of objects without a copy.
   * @param moved Told of each change.
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

  /** Serves the object from this copy from now on, or the part of it that the copy holds. */
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

  /** Where the served copy of an object is; undefined for the source. */
  placeOf(id: number): CopyPlace | undefined {
    const level = this.#namespace.levelOf(id);
    if (level === this.#sourceLevel) return undefined;
    return { level, direct: this.#namespace.directLevelOf(id) === level, tag: this.tagOf(id) };
  }

  /**
   * Returns what distinguishes the served copy of an object from any other; undefined if only the key does.
   */
  tagOf(id: number): number | undefined {
    return this.#names.tagOf(id);
  }

  /**
   * Returns the file on its tier that an object's copy is in.
   * @param tag As `tagOf` gave it.
   */
  fileOf(id: number, key: string, tag: number | undefined): string {
    return this.#names.fileOf(id, key, tag);
  }

  /** Whether this is still the copy that is served. */
  isAt(level: number, id: number, tag: number | undefined): boolean {
    return this.#namespace.levelOf(id) === level && this.tagOf(id) === tag;
  }
}
