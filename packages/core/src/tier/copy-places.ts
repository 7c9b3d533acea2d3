import type { MetadataContainer } from '../namespace/metadata-container.js';
import type { CopyPlace } from '../placement.js';
import { CopyNames } from './copy-names.js';

/**
 * Where the copy of each object is that is served: on which level, and under which name. The placement says it, reads
 * look it up.
 */
export class CopyPlaces {
  readonly #namespace: MetadataContainer;
  readonly #sourceLevel: number;
  readonly #names = new CopyNames();

  /** @param sourceLevel The level of objects without a copy. */
  constructor(namespace: MetadataContainer, sourceLevel: number) {
    this.#namespace = namespace;
    this.#sourceLevel = sourceLevel;
  }

  /** From now on the object, or the part of it that the copy holds, is served from there. */
  publish(id: number, { level, direct, tag }: CopyPlace): void {
    this.#names.set(id, tag);
    this.#namespace.setLevel(id, level, direct);
  }

  /** From now on the object is served from the source. */
  withdraw(id: number): void {
    this.#names.set(id, undefined);
    this.#namespace.setLevel(id, this.#sourceLevel);
  }

  /** What tells the copy of an object that is served from any other one; undefined if only the key does. */
  tagOf(id: number): number | undefined {
    return this.#names.tagOf(id);
  }

  /**
   * The file on its tier that an object's copy is in.
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
