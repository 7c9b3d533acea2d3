import { parseBytes, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { firstWithRoom, type PlacementPolicy } from './policy.js';

/** Options of `sizeAware`. */
export interface SizeAwareOptions {
  /**
   * The size of the largest object that each level accepts, fastest level first. Levels beyond the list
   * accept any size. For example, `['1MiB']` admits only objects of up to 1 MiB to RAM, and all others to the
   * disks below.
   */
  readonly largest: readonly ByteSize[];
}

/**
 * First fit, with the fast levels kept for small objects.
 *
 * Reading a small object from a slower level costs mostly latency: an open and a read on a disk, a round trip
 * on an object store. Reading a large one costs mostly transfer time, and all levels have a fair bandwidth.
 * So a gibibyte of RAM saves more time if it holds ten thousand small objects than if it holds eight large
 * ones.
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
