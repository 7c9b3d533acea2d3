import { parseBytes, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { firstWithRoom, type PlacementPolicy } from './policy.js';

/** Options of `sizeAware`. */
export interface SizeAwareOptions {
  /**
   * The largest object that each level takes, the fastest level first. Levels beyond the list take any.
   * `['1MiB']`, for example, lets only objects of up to 1 MiB into RAM, and all others onto the disks below.
   */
  readonly largest: readonly ByteSize[];
}

/**
 * First fit, with the fast levels kept for small objects.
 *
 * A small object costs a slower level mostly its latency: on a disk an open and a read, on an object store a
 * round trip. A large one costs mostly its bytes, which all levels bring at a fair rate. So a gibibyte of RAM
 * saves more time when it holds ten thousand small objects than when it holds eight large ones.
 * @throws TieredError `TIERED_CONFIG_INVALID` if `largest` is not a list, or an entry is not a size.
 */
export function sizeAware({ largest }: SizeAwareOptions): PlacementPolicy {
  if (!Array.isArray(largest)) throw configError('largest', 'a list of sizes such as ["1MiB"]', largest);
  const bounds = largest.map((size: ByteSize, level) => parseBytes(size, `largest[${level}]`));
  return {
    name: 'sizeAware',
    place: (object, tiers) =>
      firstWithRoom(
        object,
        tiers.filter(({ level }) => object.size <= (bounds[level] ?? Infinity)),
      ),
  };
}
