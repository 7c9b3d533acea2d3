import type { FoundObject } from '../protocol/found-object.js';
import type { Range } from '../protocol/ranges.js';
import type { Page, PageOptions } from './page.js';

/** What answers a read with bytes, and where they came from. */
export interface OpenObject extends AsyncIterable<Uint8Array> {
  /**
   * The slowest level that any piece so far came from, as the storage calls it. Undefined where the storage
   * has no levels.
   */
  readonly from: string | undefined;
}

/** How an object is asked for. */
export interface StatOptions {
  readonly signal: AbortSignal;
  /** Whether the storage is to fail with 504 where it would have to ask another one. */
  readonly onlyIfCached: boolean;
}

/** How an object is opened. */
export interface OpenOptions extends StatOptions {
  readonly range: Range;
}

/**
 * A bucket as the operations that read see it. Keys are texts of any form; whatever a key says, the storage
 * gives nothing from elsewhere. Failures are `S3Error`s, or become 500.
 */
export interface ReadStorage<Found extends FoundObject = FoundObject> {
  /** Gives the next objects, in the order of the UTF-8 of their keys. */
  list(options: PageOptions, signal: AbortSignal): Promise<Page>;
  /** Describes an object. Undefined if there is none. */
  stat(key: string, options: StatOptions): Promise<Found | undefined>;
  /**
   * Gives the bytes of a range piece by piece, all of the version that `stat` has described. A piece is the
   * reader's until it asks for the next one. Whoever iterates ends the iteration.
   */
  open(object: Found, options: OpenOptions): OpenObject;
  /** The headers of a checksum over all of an object, for clients that ask for it. Default: none. */
  checksumOf?(object: Found): Promise<readonly string[]>;
}
