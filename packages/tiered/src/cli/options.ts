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
    .option('--seed <n>', 'the seed of the training, which decides its order', wholeNumber)
    .option('--epochs <n>', 'how many', positiveWhole, 1)
    .option('--workers <n>', 'processes that train together', positiveWhole, 1)
    .option('--worker <n>', 'the one that is meant, from 0 on', wholeNumber, 0)
    .option(
      '--batch-size <n>',
      'samples of a batch of one worker; needed with --drop-last, without --torch',
      positiveWhole,
    )
    .option('--drop-last', 'the training leaves out what does not fill a batch for every worker')
    .option('--torch', "the order of PyTorch's DistributedSampler, over the keys in their order")
    .hook('preAction', assertSeed);
}

/** Adds the options of a plan: those of the order, and those that say where the samples are. */
export function addPlanOptions(command: Command): Command {
  return addTrainingOptions(command)
    .option(
      '--format <name>',
      'how samples lie in objects, as the loader is told; default: each object is a sample',
    )
    .option('--format-options <json>', 'options of the format, such as \'{"recordBytes":3073}\'', mapping)
    .option('--indexes <directory>', 'what "tiered index" wrote, so that no object is read for --format');
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
    .option('--config <file>', 'a configuration, in place of a source and --tier')
    .addOption(
      repeatable(
        '--tier <place:quota>',
        'such as /nvme/cache:200GiB, /nvme/cache:80% or ram:8GiB (in /dev/shm), fastest first; may be repeated',
      ),
    )
    .option(
      '--manifest <file>',
      'beside a source: keeps the list of its objects in this file, so that the next start does not list them; "tiered rescan" makes it anew',
    )
    .option(
      '--root <path>',
      'the path below which programs find the objects, $TIERED_ROOT, so that they read none from the source themselves; default: ' +
        '/tiered/BUCKET/PREFIX for a source that is no directory, else none',
    )
    .option(
      '--farm <directory>',
      'for programs that nothing can be loaded into, such as static ones: links to the copies, or else to the source, made in this directory',
    )
    .option(
      '--job <name>',
      'shares the source by weight with other jobs, as this one; in place of the job of a configuration (control.job)',
    )
    .option('--weight <n>', 'of the job, beside those of others; default: 1', positive)
    .option('--record <file>', 'writes down which objects are opened, in order; there must be no such file')
    .addOption(
      repeatable(
        '--replay <file>',
        'a trace of an earlier run, or of "tiered trace": objects are placed before they are opened; may be repeated',
      ),
    )
    .addOption(
      repeatable(
        '--alias <path>',
        'another path by which programs come to the source, such as a link to it; up to three, not with --root',
      ),
    );
}

/** Adds the option that names a daemon. */
export function addSessionOption(command: Command): Command {
  return command.option(
    '--at <directory>',
    'that of the daemon; default: of the one that this program was started with ($TIERED_INTERPOSE)',
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
    .option('--readers <n>', 'reads of the loader at the same time', wholeNumber, 4)
    .option(
      '--compute-mbps <n>',
      'what the training takes in, in MB/s; default: as measured, else no limit',
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
    .option('-c, --config <file>', 'a configuration whose section "control" says where jobs meet')
    .option(
      '--registry <place>',
      'where jobs meet: the file of a registry, or nats://host:4222; default: a file of this user',
    )
    .option('--name <name>', 'the name of the registry, where it is no file of your own; default: control');
}
