import { configError } from '@tiered/core/internal';
import type { SharesOptions } from '@tiered/prefetch/internal';
import type { EpochOrder } from './epoch-order.js';

/**
 * Says that `dropLast` leaves out every sample, so that a training would end at once, and look as if it had
 * been done. With as many samples as a batch of one rank it is a warning: the options are right for fewer
 * ranks.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function refuseNoBatches(
  { length }: EpochOrder,
  { batchSize, ranks }: Pick<SharesOptions, 'batchSize' | 'ranks'>,
): void {
  if (length < batchSize)
    throw configError(
      'batchSize',
      `at most ${length} with dropLast, as an epoch has no more samples`,
      batchSize,
    );
  process.emitWarning(
    `The loader has no batches: ${ranks} ranks take ${batchSize} samples each at a time, dropLast leaves out what is less, and an epoch has ${length}. Take smaller batches, fewer ranks, or dropLast: false.`,
    'TieredWarning',
  );
}
