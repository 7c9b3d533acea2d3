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
    description:
      'Maximum number of attempts, the first included. Default: as many as fit within the deadline.',
  }).optional(),
  baseDelayMs: milliseconds('more than 0', {
    title: 'First pause',
    description:
      'Upper bound of the first pause, in milliseconds; it doubles with each attempt. Default: 50.',
  }).optional(),
  maxDelayMs: milliseconds('more than 0', {
    title: 'Longest pause',
    description: 'Upper bound of every pause, in milliseconds. Default: 5000.',
  }).optional(),
  deadlineMs: milliseconds('more than 0', {
    title: 'Deadline',
    description:
      'Milliseconds for all attempts of an operation together; 600000 survives an outage of ten minutes. ' +
      'Default: 60000.',
  }).optional(),
  seed: wholeNumber(0, {
    title: 'Seed',
    description: 'Seeds the lengths of the pauses, so that a run can be repeated. Default: 0.',
  }).optional(),
}).meta({
  title: 'Retries',
  description: 'Retries operations that failed with a retryable error. Default: no retries.',
});

const limit = group('options of a limit, such as { concurrency: 16 }', {
  concurrency: wholeNumber(1, {
    title: 'Concurrency',
    description: 'Maximum number of concurrent operations; the others wait in order of arrival.',
  }),
}).meta({
  title: 'Limit',
  description: 'Bounds the number of concurrent operations on the storage. Default: no bound.',
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
      description: 'Maximum number of second requests, as a share of the reads, up to 1. Default: 0.05.',
    })
    .optional(),
  percentile: z
    .number(percentile)
    .min(0.5, percentile)
    .max(0.999, percentile)
    .meta({
      title: 'Percentile',
      description:
        'The share of the reads of similar size that do not count as late, up to 0.999. Default: 0.95.',
    })
    .optional(),
  minDelayMs: milliseconds('at least 0', {
    title: 'Least delay',
    description: 'Milliseconds before which no read counts as late. Default: 1.',
  }).optional(),
  memory: byteSize(0, {
    title: 'Memory',
    description: 'Bytes that second requests may have in flight. Default: 64MiB.',
  }).optional(),
}).meta({
  title: 'Hedged reads',
  description:
    'Makes a second request for reads that take longer than nearly all others, for sources with jitter. ' +
    'The first answer counts. Default: none.',
});

const throttle = group('options of a throttle, such as { latencyMs: 1 }', {
  latencyMs: milliseconds('at least 0', {
    title: 'Latency',
    description: 'Milliseconds that every operation waits before it begins. Default: 0.',
  }).optional(),
  bytesPerSecond: byteSize(1, {
    title: 'Bandwidth',
    description: 'Bytes per second that all operations share. Default: no bound.',
  }).optional(),
  concurrency: wholeNumber(1, {
    title: 'Concurrency',
    description: 'Maximum number of concurrent operations. Default: no bound.',
  }).optional(),
}).meta({
  title: 'Throttle',
  description: 'Slows the storage down, to see the effect of a slower one. Default: full speed.',
});

const NAMES = driverNames.join(', ');

const levelFields = {
  driver: text(`the name of a driver: ${NAMES}, a package, or a path that begins with ./`, {
    title: 'Driver',
    description:
      `The driver that reads and writes the storage: ${NAMES}, the name of a package that exports ` +
      'driverFactory, or the path of such a module, which begins with ./ and is relative to the file. ' +
      'The options of the driver stand beside it.',
  }),
  prefix: text('the characters that the keys begin with', {
    title: 'Prefix',
    description:
      'Takes only objects whose keys begin with this, and removes it from their keys. It is put before ' +
      'keys as it is: end it with / if it is a directory. Default: all objects.',
  }).optional(),
  retry: retry.optional(),
  limit: limit.optional(),
  throttle: throttle.optional(),
};

const A_LEVEL = 'a mapping with driver, such as { driver: fs, root: /data }';
const A_TIER = 'a mapping with driver and quota, such as { driver: memory, quota: 8GiB }';

/** Fields of the source besides the options of its driver. */
export const sourceSchema = group(A_LEVEL, {
  ...levelFields,
  object: text('the key of an object', {
    title: 'Object',
    description:
      'The key of the one object that is the whole dataset, without the prefix if there is one. Nothing ' +
      'is listed then. Default: all objects.',
  }).optional(),
  hedge: hedge.optional(),
});

/** Fields of a tier besides the options of its driver. */
export const tierSchema = group(A_TIER, {
  ...levelFields,
  quota: quota({
    title: 'Quota',
    description:
      'Maximum number of bytes on the tier, as a number or such as 200GiB; or a share of its whole ' +
      'storage, such as 50%.',
  }),
  readDeadlineMs: milliseconds('more than 0', {
    title: 'Read deadline',
    description:
      'Milliseconds after which a read that the tier has not answered is served from the source. A large ' +
      'read gets one second more for each 4 MiB. Default: 15000.',
  }).optional(),
  layout: oneOf(['files', 'packed'], {
    title: 'Layout',
    description:
      'Layout of copies on the storage: files keeps each copy in a file of its own, which other programs ' +
      'can open; packed gathers small copies in files of up to 4 MiB, which makes reading them several ' +
      'times as fast. Packed needs a driver with an index, such as fs. Default: files.',
  }).optional(),
});

const prefetcher = group('options of a prefetcher, such as { memory: 1GiB }', {
  memory: byteSize(1, {
    title: 'Memory',
    description:
      'Bytes of samples that are being read, are waiting, or are held by consumers. Default: 256MiB.',
  }).optional(),
  producers: wholeNumber(1, {
    title: 'Producers',
    description: 'Fixed number of concurrent reads, without tuning. Default: tuned.',
  }).optional(),
  initialProducers: wholeNumber(1, {
    title: 'Initial producers',
    description:
      'Number of producers that the tuning begins with; "tiered config init --from" takes it from a ' +
      'profile. Cannot be combined with producers. Default: by the size of the objects.',
  }).optional(),
  concurrency: wholeNumber(1, {
    title: 'Concurrency',
    description: 'Maximum number of concurrent reads. Default: producers; if those are tuned, 64.',
  }).optional(),
  onError: oneOf(['throw', 'skip'], {
    title: 'On error',
    description:
      'Handling of a sample that cannot be read: throw ends the loop, skip leaves the sample out. ' +
      'Default: throw.',
  }).optional(),
  maxSkipped: wholeNumber(1, {
    title: 'Most skipped',
    description: 'Maximum number of samples that are skipped in an epoch. Default: 10.',
  }).optional(),
})
  .refine(({ producers, initialProducers }) => producers === undefined || initialProducers === undefined, {
    path: ['initialProducers'],
    error: 'cannot be combined with producers',
  })
  .meta({
    title: 'Prefetcher',
    description: 'Defaults of the prefetchers that openDataset makes. Options in code override them.',
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
    description: 'The full dataset: the last level. Only a gateway with writes changes it.',
  }),
  tiers: z
    .array(z.looseObject({}, expected(A_TIER)), expected('a list of tiers, fastest first'))
    .meta({ title: 'Tiers', description: 'The levels above the source, fastest first. Default: none.' })
    .optional(),
  placement: z
    .looseObject({}, expected('options of the placement, such as { concurrency: 6 }'))
    .meta({ title: 'Placement', description: 'Placement of objects on the tiers. Needs @tiered/tiering.' })
    .optional(),
  model: filePath('the path of a profile', {
    title: 'Model',
    description:
      'A profile from "tiered calibrate -o", relative to this file. With it, each read uses the copy or ' +
      'the source, whichever is faster at the moment, and plans of the contents of tiers go by it. If the ' +
      'profile has peers ("--peers"), a worker of a cluster chooses between them and the source in the ' +
      'same way. Needs @tiered/simulator. Default: none; copies are always read, and plans assume a ' +
      'source of 5 ms and 100 MB/s.',
  }).optional(),
  prefetcher: prefetcher.optional(),
  gateway: gateway.optional(),
  cluster: cluster.optional(),
  control: control.optional(),
  monitor: filePath('the path of a directory', {
    title: 'Monitor',
    description:
      'A directory, relative to this file, through which "tiered top" can watch a program that calls ' +
      'openDataset. Default: none.',
  }).optional(),
  scan: flag({
    title: 'Scan',
    description:
      'Whether the source is listed at start, so that every size is known before the first read. ' +
      'Otherwise, each object costs one request when it is first used. Default: true if the source can ' +
      'list.',
  }).optional(),
  manifest: filePath('the path of a file', {
    title: 'Manifest',
    description:
      'A file for the namespace, relative to this file, so that only the first start lists the source. ' +
      'Default: none.',
  }).optional(),
  versions: z
    .enum(['refresh', 'pin', 'ignore'], expected('refresh, pin or ignore'))
    .meta({
      title: 'Versions',
      description:
        'Handling of an object that has changed in the source: refresh takes the new version, pin keeps ' +
        'to the version known at first, ignore treats objects of equal size as equal. Copies are compared ' +
        'when the source is listed. Default: refresh.',
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

/** Sections that cannot be combined with others. */
function* mistakesIn({ gateway: given, cluster: workers, placement, versions = 'refresh' }: Sections) {
  for (const field of ['changing', 'writes'] as const)
    if (versions !== 'refresh' && (given?.[field] ?? []).length > 0)
      yield [['gateway', field], 'cannot be combined with versions: pin or ignore'] as const;
  const policy = placement?.['policy'];
  const { name = policy } = (policy ?? {}) as { readonly name?: unknown };
  if (workers?.plan !== undefined && name !== 'planFollower')
    yield [['placement', 'policy'], 'expected planFollower, which goes by cluster.plan'] as const;
}
