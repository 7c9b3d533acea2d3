import type { FoundObject } from '../protocol/found-object.js';
import type { Range } from '../protocol/ranges.js';
import type { Page, PageOptions } from './page.js';

/** The bytes of a read, and where they came from. */
export interface OpenObject extends AsyncIterable<Uint8Array> {
  /**
   * The slowest level that any piece so far came from, by the storage's name for it. Undefined if the storage
   * has no levels.
   */
  readonly from: string | undefined;
}

/** How an object is looked up. */
export interface StatOptions {
  readonly signal: AbortSignal;
  /** Whether the storage fails with 504 instead of asking another one. */
  readonly onlyIfCached: boolean;
}

/** How an object is opened. */
export interface OpenOptions extends StatOptions {
  readonly range: Range;
}

/**
 * A bucket as seen by the read operations. Keys are texts of any form. No key reaches anything outside the
 * bucket. Failures are `S3Error`s, or become 500.
 */
export interface ReadStorage<Found extends FoundObject = FoundObject> {
  /** Lists the next objects, in the order of the UTF-8 of their keys. */
  list(options: PageOptions, signal: AbortSignal): Promise<Page>;
  /** Describes an object. Undefined if there is none. */
  stat(key: string, options: StatOptions): Promise<Found | undefined>;
  /**
   * Returns the bytes of a range piece by piece, all of the version that `stat` described. A piece belongs to
   * the reader until it asks for the next one. The reader has to end the iteration.
   */
  open(object: Found, options: OpenOptions): OpenObject;
  /** The headers of a checksum over the whole object, for clients that ask for it. Default: none. */
  checksumOf?(object: Found): Promise<readonly string[]>;
}
