import { parseBytes, type ByteSize } from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import { firstFit } from './policies/first-fit.js';
import type { PlacementPolicy } from './policies/policy.js';

/** Options of `PlacementHandler`. */
export interface PlacementHandlerOptions {
  /**
   * Decides which level an object is placed on. Default: `firstFit`, the optimum where every object is read
   * once an epoch.
   */
  readonly policy?: PlacementPolicy | undefined;
  /**
   * Requests to the source that run at the same time in the background, at least 1. Reads that somebody waits
   * for do not count. As many writes to tiers run at first; their number then adapts between 1 and 32, as
   * that makes them faster. Default: 6, the size of the paper's pool.
   */
  readonly concurrency?: number | undefined;
  /**
   * Bytes of one request to the source while an object is being placed. Objects up to this size are fetched
   * whole. Default: 4 MiB at first, then between 1 and 16 MiB, so that a request takes 20 to 200 ms: long
   * enough that latency does not count, short enough that the reader of a part does not wait for the rest.
   */
  readonly chunk?: ByteSize | undefined;
  /**
   * Bytes of memory for chunks on their way to tiers. Some drivers keep an object in memory until it is
   * published (`capabilities.buffersWrites`). On its way to their tier an object counts twice, and is not
   * placed there if that exceeds `memory`. The memory in which readers get their bytes comes on top. Default:
   * 256 MiB, a second or two of a disk's writes.
   */
  readonly memory?: ByteSize | undefined;
  /**
   * What a read does when it would place its object and `memory` is full, because tiers take less than the
   * source gives.
   *
   * - `'wait'`: The read waits for memory, ahead of all background work. The first epoch goes as fast as the
   *   tiers write, and every object is fetched once. If nothing moves for 10 s, readers go on without placing
   *   until something does.
   * - `'goOn'`: The read is served at once, and its object is not placed. The object is fetched again in the
   *   background when the tiers have caught up.
   *
   * An abort of the read ends the wait, and so does closing. Default: `'wait'`, because everybody shares the
   * source. Going on costs the source a second fetch of every byte that was not placed. Waiting costs one
   * epoch, and nothing where tiers are faster than the source.
   */
  readonly whenBehind?: 'wait' | 'goOn' | undefined;
}

const WHEN_BEHIND = ['wait', 'goOn'] as const;

/**
 * The options with their defaults.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function checkedHandlerOptions(options: PlacementHandlerOptions) {
  const { policy = firstFit, concurrency = 6, chunk, memory = '256MiB', whenBehind = 'wait' } = options;
  assertCounts({ concurrency });
  if (!WHEN_BEHIND.includes(whenBehind)) throw configError('whenBehind', '"wait" or "goOn"', whenBehind);
  assertPolicy(policy);
  return { policy, concurrency, chunk, memoryBytes: parseBytes(memory, 'memory'), whenBehind };
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for what is no policy. */
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
