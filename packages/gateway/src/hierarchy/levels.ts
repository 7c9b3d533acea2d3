import type { Hierarchy, StorageDriver } from '@tiered/core';
import { readChannel, type ReadTrace } from '@tiered/core/tracing';

/**
 * Where bytes came from: memory of this process, a directory, a bucket that is a tier, or the source. Bytes
 * already in flight from the source for another read count as the source's. So do bytes that other workers of
 * a cluster supplied in its place: a hierarchy does not say which of them a read got.
 */
export type ServedFrom = 'ram' | 'disk' | 'bucket' | 'source';

/** From the fastest to the slowest. */
const LEVELS: readonly (string | undefined)[] = [undefined, 'ram', 'disk', 'bucket', 'source'];

/** The slower of two places that bytes came from. */
export function slowerOf(one: string | undefined, other: string | undefined): string | undefined {
  return LEVELS.indexOf(one) < LEVELS.indexOf(other) ? other : one;
}

/** Names by driver of a tier. A driver builds its location anew on each access. */
const names = new WeakMap<StorageDriver, ServedFrom>();

/** Where the bytes of a hierarchy's level come from. */
export function nameOfLevel(hierarchy: Hierarchy, level: number): ServedFrom {
  const driver = hierarchy.tiers[level]?.driver;
  if (driver === undefined) return 'source';
  const known = names.get(driver);
  if (known !== undefined) return known;
  const { location } = driver;
  const name = location === undefined ? 'ram' : location.startsWith('file:') ? 'disk' : 'bucket';
  names.set(driver, name);
  return name;
}

/** A read, and the level that served it once it has ended. */
export interface WatchedRead {
  readonly bytes: Promise<Uint8Array>;
  /** The slowest level that served any of it. Undefined until the read has ended. */
  readonly level: () => number | undefined;
}

/**
 * Finds out which level served a read. A hierarchy reports that only on its tracing channel. Reads of all
 * hierarchies of the process are traced while a watch is open.
 */
export class ReadWatch {
  /** The context of the read that has just begun. */
  #begun: ReadTrace | undefined;
  readonly #subscriber = {
    // A source that is itself a hierarchy begins reads of its own after this one.
    start: (trace: ReadTrace) => {
      this.#begun ??= trace;
    },
  };

  constructor() {
    readChannel.subscribe(this.#subscriber);
  }

  /** Begins a read. Its context is published before `read` returns. */
  read(begin: () => Promise<Uint8Array>): WatchedRead {
    this.#begun = undefined;
    const bytes = begin();
    const trace = this.#begun as ReadTrace | undefined;
    return { bytes, level: () => trace?.level };
  }

  close(): void {
    readChannel.unsubscribe(this.#subscriber);
  }
}
