import { parseBytes, type ByteSize } from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import { firstFit } from './policies/first-fit.js';
import type { PlacementPolicy } from './policies/policy.js';

/** Options of `PlacementHandler`. */
export interface PlacementHandlerOptions {
  /**
   * The policy that decides which level an object is placed on. Default: `firstFit`, which is optimal if
   * every object is read once per epoch.
   */
  readonly policy?: PlacementPolicy | undefined;
  /**
   * Maximum number of concurrent background requests to the source, at least 1. Reads with a waiting caller
   * do not count. Writes to tiers start with the same concurrency, which then adapts to their throughput,
   * between 1 and 32. Default: 6, the size of the paper's pool.
   */
  readonly concurrency?: number | undefined;
  /**
   * Bytes of one request to the source while an object is being placed. Objects up to this size are fetched
   * whole. Default: 4 MiB at first, then adapted between 1 and 16 MiB so that a request takes 20 to 200 ms:
   * long enough that latency does not matter, short enough that the reader of a part does not wait for the
   * rest.
   */
  readonly chunk?: ByteSize | undefined;
  /**
   * Memory budget in bytes for chunks in flight to tiers. Some drivers buffer an object in memory until it is
   * published (`capabilities.buffersWrites`). An object in flight to such a tier counts twice, and is not
   * placed there if that exceeds `memory`. The memory of readers' results is not included. Default: 256 MiB,
   * a second or two of a disk's writes.
   */
  readonly memory?: ByteSize | undefined;
  /**
   * Behaviour of a read that would place its object while `memory` is full, because tiers are slower than the
   * source.
   *
   * - `'wait'`: The read waits for memory, ahead of all background work. The first epoch runs at the write
   *   speed of the tiers, and every object is fetched once. If no memory is released for 10 s, readers
   *   continue without placing until some is.
   * - `'goOn'`: The read is served at once, and its object is not placed. The object is fetched again in the
   *   background once the tiers have caught up.
   *
   * Aborting the read ends the wait, and so does closing. Default: `'wait'`, because the source is shared.
   * `'goOn'` costs the source a second fetch of every byte that was not placed. `'wait'` slows down one
   * epoch, and costs nothing if tiers are faster than the source.
   */
  readonly whenBehind?: 'wait' | 'goOn' | undefined;
}

const WHEN_BEHIND = ['wait', 'goOn'] as const;

/**
 * Validates the options and applies their defaults.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function checkedHandlerOptions(options: PlacementHandlerOptions) {
  const { policy = firstFit, concurrency = 6, chunk, memory = '256MiB', whenBehind = 'wait' } = options;
  assertCounts({ concurrency });
  if (!WHEN_BEHIND.includes(whenBehind)) throw configError('whenBehind', '"wait" or "goOn"', whenBehind);
  assertPolicy(policy);
  return { policy, concurrency, chunk, memoryBytes: parseBytes(memory, 'memory'), whenBehind };
}

/** @throws TieredError `TIERED_CONFIG_INVALID` if the value is not a policy. */
function assertPolicy(policy: PlacementPolicy): void {
  if (typeof (policy as Partial<PlacementPolicy>).place === 'function') return;
  throw configError(
    'policy',
    typeof policy === 'function'
      ? 'a policy such as firstFit; some are made by a function, as sizeAware({ ... })'
      : 'a policy such as firstFit',
    policy,
  );
}
