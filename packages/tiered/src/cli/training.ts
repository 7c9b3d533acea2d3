import { TieredError } from '@tiered/core';
import type { Command } from 'commander';
import { positiveWhole, wholeNumber } from './numbers.js';

/** The order of a training, as commands are told it. */
export interface TrainingOptions {
  /** Undefined where no order was given. */
  readonly seed?: number;
  readonly epochs: number;
  readonly workers: number;
  readonly worker: number;
  readonly batchSize?: number;
  readonly torch?: boolean;
}

/** These say more of an order, and nothing without one. */
const NEED_SEED = ['epochs', 'workers', 'worker', 'batchSize', 'torch'];

/** Adds the options that say in which order a training reads. */
export function addTrainingOptions(command: Command): Command {
  return command
    .option('--seed <n>', 'the seed of the training, which decides its order', wholeNumber)
    .option('--epochs <n>', 'how many', positiveWhole, 1)
    .option('--workers <n>', 'processes that train together', positiveWhole, 1)
    .option('--worker <n>', 'the one that is meant, from 0 on', wholeNumber, 0)
    .option(
      '--batch-size <n>',
      'samples of a global batch; needed for several workers, without --torch',
      positiveWhole,
    )
    .option('--torch', "the order of PyTorch's DistributedSampler, over the keys in their order")
    .hook('preAction', assertSeed);
}

function assertSeed(command: Command): void {
  if (command.getOptionValue('seed') !== undefined) return;
  const idle = command.options.find((option) => {
    const name = option.attributeName();
    return NEED_SEED.includes(name) && command.getOptionValueSource(name) === 'cli';
  });
  if (idle === undefined) return;
  const expected = `${idle.long}: expected with --seed, which decides the order`;
  throw new TieredError('TIERED_CONFIG_INVALID', expected);
}
