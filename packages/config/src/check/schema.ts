import { z } from 'zod';
import { driverNames } from '../drivers/modules.js';
import {
  byteSize,
  expected,
  filePath,
  flag,
  group,
  milliseconds,
  oneOf,
  quota,
  text,
  wholeNumber,
} from '../fields.js';
import { cluster } from './cluster-schema.js';
import { control } from './control-schema.js';
import { gateway } from './gateway-schema.js';

const retry = group('options of retries, such as { attempts: 4 }', {
  attempts: wholeNumber(1, {
    title: 'Attempts',
    description: 'Tries at most, the first included. Default: as many as the deadline has room for.',
  }).optional(),
  baseDelayMs: milliseconds('more than 0', {
    title: 'First pause',
    description: 'Upper bound of the first pause, in milliseconds; it doubles with each try. Default: 50.',
  }).optional(),
  maxDelayMs: milliseconds('more than 0', {
    title: 'Longest pause',
    description: 'Upper bound of every pause, in milliseconds. Default: 5000.',
  }).optional(),
  deadlineMs: milliseconds('more than 0', {
    title: 'Deadline',
    description:
      'Milliseconds for all tries of an operation together; 600000 survives an outage of ten minutes. Default: 60000.',
  }).optional(),
  seed: wholeNumber(0, {
    title: 'Seed',
    description: 'Seeds the lengths of the pauses, so that a run can be repeated. Default: 0.',
  }).optional(),
}).meta({
  title: 'Retries',
  description: 'Makes operations again that failed with an error that may pass. Default: no retries.',
});

const limit = group('options of a limit, such as { concurrency: 16 }', {
  concurrency: wholeNumber(1, {
    title: 'Concurrency',
    description: 'Operations under way at the same time; the others wait in order of arrival.',
  }),
}).meta({
  title: 'Limit',
  description: 'Bounds how many operations reach the storage at the same time. Default: no bound.',
});

const budget = expected('a share of more than 0 and at most 1');
const percentile = expected('a share from 0.5 to 0.999');

const hedge = group('options of hedged reads, such as { budget: 0.05 }', {
  budget: z
    .number(budget)
    .positive(budget)
    .max(1, budget)
    .meta({
      title: 'Budget',
      description: 'Second requests at most, as a share of the reads, up to 1. Default: 0.05.',
    })
    .optional(),
  percentile: z
    .number(percentile)
    .min(0.5, percentile)
    .max(0.999, percentile)
    .meta({
      title: 'Percentile',
      description: 'The share of the reads of like size that are not late, up to 0.999. Default: 0.95.',
    })
    .optional(),
  minDelayMs: milliseconds('at least 0', {
    title: 'Least delay',
    description: 'Milliseconds before which no read is late. Default: 1.',
  }).optional(),
  memory: byteSize(0, {
    title: 'Memory',
    description: 'Bytes that second requests may bring at a time. Default: 64MiB.',
  }).optional(),
}).meta({
  title: 'Hedged reads',
  description:
    'A second request for reads that take longer than nearly all others, for sources with jitter; the first answer counts. Default: none.',
});

const throttle = group('options of a throttle, such as { latencyMs: 1 }', {
  latencyMs: milliseconds('at least 0', {
    title: 'Latency',
    description: 'Milliseconds that every operation waits before it begins. Default: 0.',
  }).optional(),
  bytesPerSecond: byteSize(1, {
    title: 'Bandwidth',
    description: 'Bytes a second that all operations share. Default: no bound.',
  }).optional(),
  concurrency: wholeNumber(1, {
    title: 'Concurrency',
    description: 'Operations under way at the same time. Default: no bound.',
  }).optional(),
}).meta({
  title: 'Throttle',
  description: 'Makes the storage as slow as another one, to see what would be. Default: as fast as it is.',
});

const NAMES = driverNames.join(', ');

const levelFields = {
  driver: text(`the name of a driver: ${NAMES}, a package, or a path that begins with ./`, {
    title: 'Driver',
    description:
      `What reads and writes the storage: ${NAMES}, the name of a package that exports driverFactory, or ` +
      'the path of such a module, which begins with ./ and is relative to the file. Its own options stand beside it.',
  }),
  prefix: text('the characters that the keys begin with', {
    title: 'Prefix',
    description:
      'Only the objects whose keys begin with this, without it. It is put before keys as it is: end it with / if it ' +
      'is a directory. Default: all objects.',
  }).optional(),
  retry: retry.optional(),
  limit: limit.optional(),
  throttle: throttle.optional(),
};

const A_LEVEL = 'a mapping with driver, such as { driver: fs, root: /data }';
const A_TIER = 'a mapping with driver and quota, such as { driver: memory, quota: 8GiB }';

/** Fields of the source beside the options of its driver. */
export const sourceSchema = group(A_LEVEL, {
  ...levelFields,
  object: text('the key of an object', {
    title: 'Object',
    description:
      'The key of the one object that is the whole dataset, behind the prefix if there is one. Nothing is listed then. ' +
      'Default: all objects.',
  }).optional(),
  hedge: hedge.optional(),
});

/** Fields of a tier beside the options of its driver. */
export const tierSchema = group(A_TIER, {
  ...levelFields,
  quota: quota({
    title: 'Quota',
    description:
      'Bytes that the tier holds at most, as a number or such as 200GiB; or a share of all that its storage has, such as 50%.',
  }),
  readDeadlineMs: milliseconds('more than 0', {
    title: 'Read deadline',
    description:
      'Milliseconds after which a read that the tier has not answered is served from the source; a large read has a second ' +
      'more for each 4 MiB. Default: 15000.',
  }).optional(),
  layout: oneOf(['files', 'packed'], {
    title: 'Layout',
    description:
      'How copies lie on the storage: files, each of its own, for other programs to open; or packed, small ones gathered in files of ' +
      'up to 4 MiB, which reads them several times as fast. Packed needs a driver with an index, such as fs. Default: files.',
  }).optional(),
});

const prefetcher = group('options of a prefetcher, such as { memory: 1GiB }', {
  memory: byteSize(1, {
    title: 'Memory',
    description: 'Bytes of samples that are being read, wait, or are with consumers. Default: 256MiB.',
  }).optional(),
  producers: wholeNumber(1, {
    title: 'Producers',
    description: 'Exactly so many reads at a time, without tuning. Default: tuned.',
  }).optional(),
  initialProducers: wholeNumber(1, {
    title: 'Initial producers',
    description:
      'Producers that the tuning begins with, as "tiered config init --from" takes them from a profile. Not together ' +
      'with producers. Default: by the size of the objects.',
  }).optional(),
  concurrency: wholeNumber(1, {
    title: 'Concurrency',
    description: 'Reads under way at the same time, at most. Default: producers; if those are tuned, 64.',
  }).optional(),
  onError: oneOf(['throw', 'skip'], {
    title: 'On error',
    description:
      'For a sample that cannot be read: throw ends the loop, skip leaves the sample out. Default: throw.',
  }).optional(),
  maxSkipped: wholeNumber(1, {
    title: 'Most skipped',
    description: 'Samples that are skipped in an epoch at most. Default: 10.',
  }).optional(),
})
  .refine(({ producers, initialProducers }) => producers === undefined || initialProducers === undefined, {
    path: ['initialProducers'],
    error: 'cannot be combined with producers',
  })
  .meta({
    title: 'Prefetcher',
    description: 'Defaults of the prefetchers that openDataset makes; an option in code is stronger.',
    not: { required: ['producers', 'initialProducers'] },
  });

/**
 * The file as a whole. The fields of a level are checked by one of the schemas above, and by the schema of
 * its driver.
 */
export const hierarchySchema = group('a mapping with source, and mostly tiers', {
  $schema: z
    .string(expected('the address of the JSON Schema'))
    .meta({ title: 'JSON Schema', description: 'The address of the JSON Schema, for editors. Not read.' })
    .optional(),
  source: z.looseObject({}, expected(A_LEVEL)).meta({
    title: 'Source',
    description: 'The full dataset: the last level, never written.',
  }),
  tiers: z
    .array(z.looseObject({}, expected(A_TIER)), expected('a list of tiers, fastest first'))
    .meta({ title: 'Tiers', description: 'The levels above the source, fastest first. Default: none.' })
    .optional(),
  placement: z
    .looseObject({}, expected('options of the placement, such as { concurrency: 6 }'))
    .meta({ title: 'Placement', description: 'Decides what is kept where. Needs @tiered/tiering.' })
    .optional(),
  model: filePath('the path of a profile', {
    title: 'Model',
    description:
      'A profile that "tiered calibrate -o" wrote, relative to this file. By it each read uses the copy or the source, ' +
      'whichever is faster at the moment, and plans of what tiers are to hold go by it. If it has peers ("--peers"), a ' +
      'worker of a cluster chooses between them and the source so, too. Needs @tiered/simulator. ' +
      'Default: none; copies are always read, and plans take a source of 5 ms and 100 MB/s.',
  }).optional(),
  prefetcher: prefetcher.optional(),
  gateway: gateway.optional(),
  cluster: cluster.optional(),
  control: control.optional(),
  monitor: filePath('the path of a directory', {
    title: 'Monitor',
    description:
      'A directory, relative to this file, in which a program that calls openDataset can be watched by "tiered top". ' +
      'Default: none.',
  }).optional(),
  scan: flag({
    title: 'Scan',
    description:
      'Whether the source is listed at start, so that every size is known before the first read. Without it each ' +
      'object costs one request when it is first used. Default: true if the source can list.',
  }).optional(),
  manifest: filePath('the path of a file', {
    title: 'Manifest',
    description:
      'A file in which the namespace is kept, relative to this one, so that only the first start lists the source. ' +
      'Default: none.',
  }).optional(),
  versions: z
    .enum(['refresh', 'pin', 'ignore'], expected('refresh, pin or ignore'))
    .meta({
      title: 'Versions',
      description:
        'When an object in the source has changed: refresh takes the new one, pin keeps to what was known at ' +
        'first, ignore takes objects of equal size for equal. Copies are compared when the source is listed. Default: refresh.',
    })
    .optional(),
}).superRefine((file, context) => {
  for (const [path, message] of mistakesIn(file))
    context.addIssue({ code: 'custom', path: [...path], message });
});

interface Sections {
  readonly gateway?:
    | { readonly changing?: readonly string[] | undefined; readonly writes?: readonly string[] | undefined }
    | undefined;
  readonly cluster?: { readonly plan?: object | undefined } | undefined;
  readonly placement?: Readonly<Record<string, unknown>> | undefined;
  readonly versions?: string | undefined;
}

/** Sections that do not go with others. */
function* mistakesIn({ gateway: given, cluster: workers, placement, versions = 'refresh' }: Sections) {
  for (const field of ['changing', 'writes'] as const)
    if (versions !== 'refresh' && (given?.[field] ?? []).length > 0)
      yield [['gateway', field], 'cannot be combined with versions: pin or ignore'] as const;
  const policy = placement?.['policy'];
  const { name = policy } = (policy ?? {}) as { readonly name?: unknown };
  if (workers?.plan !== undefined && name !== 'planFollower')
    yield [['placement', 'policy'], 'expected planFollower, which goes by cluster.plan'] as const;
}
