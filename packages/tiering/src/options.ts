import type { ByteSize } from '@tiered/core';
import type { PlacementPolicy } from './policies/policy.js';

/** Options of `PlacementHandler`. */
export interface PlacementHandlerOptions {
  /** Where objects are to live. Default: `firstFit`, the optimum where every object is read once an epoch. */
  readonly policy?: PlacementPolicy | undefined;
  /**
   * Requests to the source that nobody waits for, at the same time; at least 1. Writes to tiers begin with as many, and
   * become more or fewer, between 1 and 32, as that makes them faster. Default: 6, the paper's pool.
   */
  readonly concurrency?: number | undefined;
  /**
   * Bytes of a request to the source when an object is being placed; objects up to this size are fetched whole.
   * Default: from 4 MiB on, between 1 and 16 MiB, so that a request takes 20 to 200 ms: long enough that latency does not
   * count, short enough that a reader of a part does not wait for the rest.
   */
  readonly chunk?: ByteSize | undefined;
  /**
   * Bytes of memory for chunks that are on their way to tiers. On its way to a tier whose driver keeps it until it is published
   * (`capabilities.buffersWrites`) an object counts twice, and one for which that is too much is not placed there. The memory that
   * readers get their bytes in comes on top. Default: 256 MiB, a second or two of a disk's writes.
   */
  readonly memory?: ByteSize | undefined;
  /**
   * What a read does that would place its object while `memory` is full, because tiers take less than the source gives.
   * `'wait'`: it waits until there is memory, ahead of all background work, so that the first epoch goes as fast as the tiers write,
   * and every object is fetched once. If nothing moves for 10 s readers go on without placing, until something does.
   * `'goOn'`: it is served at once, without being placed. The object is fetched again in the background when the tiers have caught up.
   * An abort of the read, and closing, end the wait. Default: `'wait'`, because the source is what everybody shares: going on
   * costs it every byte that was not placed a second time, and waiting costs one epoch, and nothing where tiers are faster than the source.
   */
  readonly whenBehind?: 'wait' | 'goOn' | undefined;
}
