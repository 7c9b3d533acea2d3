import { parseBytes, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { firstWithRoom, type PlacementPolicy } from './policy.js';

/** Options of `sizeAware`. */
export interface SizeAwareOptions {
  /**
   * For each level from the fastest: the largest object that it takes. Levels beyond the list take any. Such as
   * `['1MiB']`: only objects of up to 1 MiB in RAM, all others on the disks below.
   */
  readonly largest: readonly ByteSize[];
}

/**
 * First fit, with the fast levels kept for small objects. A small object costs a slower level mostly its latency (on a
 * disk an open and a read, on an object store a round trip), a large one mostly its bytes, which all levels bring at a
 * fair rate: so a gibibyte of RAM saves more time when it holds ten thousand small objects than when it holds eight
 * large ones.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a list that is none, or an entry that is no size.
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
