import type { Hierarchy, StorageDriver } from '@tiered/core';
import { readChannel, type ReadTrace } from '@tiered/core/tracing';

/**
 * Where bytes came from: memory of this process, a directory, a bucket that is a tier, or the source. Bytes
 * that were on their way from the source already, for somebody else, are the source's. So are those that
 * other workers of a cluster gave in place of it: a hierarchy does not say which of them a read got.
 */
export type ServedFrom = 'ram' | 'disk' | 'bucket' | 'source';

/** From the fastest to the slowest. */
const LEVELS: readonly (string | undefined)[] = [undefined, 'ram', 'disk', 'bucket', 'source'];

/** The slower one of two places that bytes came from. */
export function slowerOf(one: string | undefined, other: string | undefined): string | undefined {
  return LEVELS.indexOf(one) < LEVELS.indexOf(other) ? other : one;
}

/** Of the drivers of tiers. A driver puts its location together each time that it is asked. */
const names = new WeakMap<StorageDriver, ServedFrom>();

/** What a level of a hierarchy is. */
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

/** A read, and what is known of where it was served once it has ended. */
export interface WatchedRead {
  readonly bytes: Promise<Uint8Array>;
  /** The slowest level that served any of it. Undefined until the read has ended. */
  readonly level: () => number | undefined;
}

/**
 * Finds out which level served a read: a hierarchy says so on its channel of traces alone. Reads of all
 * hierarchies of the process are traced while a watch is open.
 */
export class ReadWatch {
  /** The context of the read that has just begun. */
  #begun: ReadTrace | undefined;
  readonly #subscriber = {
    // A source that is a hierarchy itself begins reads of its own, after this one.
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
