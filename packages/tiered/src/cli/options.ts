import { TieredError } from '@tiered/core';
import type { Command } from 'commander';
import { mapping, positive, positiveWhole, repeatable, wholeNumber } from './arguments.js';

/** The order of a training, as commands are told it. */
export interface TrainingOptions {
  /** Undefined where no order was given. */
  readonly seed?: number;
  readonly epochs: number;
  readonly workers: number;
  readonly worker: number;
  /** Samples of a batch of one worker. */
  readonly batchSize?: number;
  readonly dropLast?: boolean;
  readonly torch?: boolean;
}

/** What a plan is made from. */
export interface PlanOptions extends TrainingOptions {
  /** The name of the format. Without one, objects are samples. */
  readonly format?: string;
  readonly formatOptions?: Readonly<Record<string, unknown>>;
  readonly indexes?: string;
}

/** These say more of an order, and nothing without one. */
const NEED_SEED = ['epochs', 'workers', 'worker', 'batchSize', 'dropLast', 'torch', 'format', 'indexes'];

/** Adds the options that say in which order a training reads. */
export function addTrainingOptions(command: Command): Command {
  return command
    .option('--seed <n>', 'the seed of the training run, which decides its order', wholeNumber)
    .option('--epochs <n>', 'number of epochs', positiveWhole, 1)
    .option('--workers <n>', 'number of processes that train together', positiveWhole, 1)
    .option('--worker <n>', 'number of the worker, from 0', wholeNumber, 0)
    .option(
      '--batch-size <n>',
      'samples in a batch of one worker; needed with --drop-last, not with --torch',
      positiveWhole,
    )
    .option('--drop-last', 'the training run leaves out samples that do not fill a batch for every worker')
    .option('--torch', "the order of PyTorch's DistributedSampler, over the keys in their order")
    .hook('preAction', assertSeed);
}

/** Adds the options of a plan: those of the order, and those that say where the samples are. */
export function addPlanOptions(command: Command): Command {
  return addTrainingOptions(command)
    .option(
      '--format <name>',
      'format of the samples in objects, as given to the loader; default: each object is a sample',
    )
    .option('--format-options <json>', 'options of the format, such as \'{"recordBytes":3073}\'', mapping)
    .option(
      '--indexes <directory>',
      'directory that "tiered index" wrote, so that no object is read for --format',
    );
}

function assertSeed(command: Command): void {
  if (command.getOptionValue('seed') !== undefined) return;
  const idle = command.options.find((option) => {
    const name = option.attributeName();
    return NEED_SEED.includes(name) && command.getOptionValueSource(name) === 'cli';
  });
  if (idle === undefined) return;
  const message = `${idle.long}: needs --seed, which decides the order`;
  throw new TieredError('TIERED_CONFIG_INVALID', message);
}

/** What the source of such commands is. */
export const SOURCE = 'a directory, s3://bucket/prefix/, gs://... or az://...';

/** Adds the options that say how a hierarchy is served to programs. */
export function addServingOptions(command: Command): Command {
  return command
    .option('--config <file>', 'a configuration, instead of a source and --tier')
    .addOption(
      repeatable(
        '--tier <place:quota>',
        'a tier, such as /nvme/cache:200GiB, /nvme/cache:80% or ram:8GiB (in /dev/shm), fastest first; ' +
          'may be repeated',
      ),
    )
    .option(
      '--manifest <file>',
      'with a source: keeps the list of its objects in this file, so that the next start does not list ' +
        'them; "tiered rescan" renews it',
    )
    .option(
      '--root <path>',
      'the path below which programs find the objects, $TIERED_ROOT, so that they read none from the ' +
        'source directly; default: /tiered/BUCKET/PREFIX for a source that is not a directory, else none',
    )
    .option(
      '--farm <directory>',
      'directory for links to the copies, or else to the source, for programs that nothing can be loaded ' +
        'into, such as static ones',
    )
    .option(
      '--job <name>',
      'shares the source by weight with other jobs, under this name; overrides the job of a configuration ' +
        '(control.job)',
    )
    .option('--weight <n>', 'weight of the job among the others; default: 1', positive)
    .option('--record <file>', 'records which objects are opened, in order; the file must not exist')
    .addOption(
      repeatable(
        '--replay <file>',
        'a trace of an earlier run, or from "tiered trace"; objects are placed before they are opened; ' +
          'may be repeated',
      ),
    )
    .addOption(
      repeatable(
        '--alias <path>',
        'another path by which programs reach the source, such as a link to it; up to three, not with ' +
          '--root',
      ),
    );
}

/** Adds the option that names a daemon. */
export function addSessionOption(command: Command): Command {
  return command.option(
    '--at <directory>',
    'directory of the daemon; default: that of the daemon that this program was started with ' +
      '($TIERED_INTERPOSE)',
  );
}

/** What a training does with what it reads, as the simulator is told it. */
export interface MeasuredOptions {
  readonly readers: number;
  readonly computeMbps?: number;
}

/** Adds the options of a training on storage that was measured. */
export function addMeasuredOptions(command: Command): Command {
  return command
    .option('--readers <n>', 'concurrent reads of the loader', wholeNumber, 4)
    .option(
      '--compute-mbps <n>',
      'rate at which the training run takes in data, in MB/s; default: as measured, else no limit',
      positive,
    );
}

/** Where jobs meet that share sources. */
export interface ControlRegistryOptions {
  readonly config?: string;
  readonly registry?: string;
  readonly name?: string;
}

/** Adds the options that say where jobs meet. */
export function addControlRegistryOptions(command: Command): Command {
  return command
    .option(
      '-c, --config <file>',
      'a configuration whose section "control" names the registry where jobs meet',
    )
    .option(
      '--registry <place>',
      'the registry where jobs meet: its file, or nats://host:4222; default: a file of this user',
    )
    .option('--name <name>', 'name of the registry, not with a file of your own; default: control');
}
