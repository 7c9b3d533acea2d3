import type { PlacementFactory } from '@tiered/core';
import { byteSize, expected, group, wholeNumber } from '@tiered/core/config';
import { z } from 'zod';
import { PlacementHandler, type PlacementHandlerOptions } from './placement-handler.js';
import { firstFit } from './policy.js';

/** Every policy that a file can name: its name and options, and how it is made of them. */
const POLICIES = [
  group('the policy firstFit, which has no options', { name: z.literal('firstFit') })
    .meta({ title: 'First fit', description: 'The first tier with room; nothing is ever evicted.' })
    .transform(() => firstFit),
] as const;

const names = POLICIES.map((policy) => policy.in.shape.name.value);
const aPolicy = `a policy: ${names.join(', ')}`;

const withOptions = z.discriminatedUnion('name', POLICIES, {
  error: ({ input }) => expected(aPolicy).error({ input: (input as { readonly name?: unknown }).name }),
});

const byName = z
  .enum(names)
  .transform((name) => ({ name }))
  .pipe(withOptions);

const schema = group('options of the placement, such as { concurrency: 6 }', {
  policy: z
    .union([byName, withOptions], expected(`${aPolicy}, or { name, ...its options }`))
    .meta({
      title: 'Policy',
      description:
        'Where an object is to live: a name, or a mapping with name and options. Default: firstFit.',
    })
    .optional(),
  concurrency: wholeNumber(1, {
    title: 'Concurrency',
    description: 'Copies to tiers under way at the same time. Default: 6.',
  }).optional(),
  chunk: byteSize(1, {
    title: 'Chunk',
    description: 'Bytes of a request to the source when a whole object is fetched. Default: 4MiB.',
  }).optional(),
  memory: byteSize(0, {
    title: 'Memory',
    description:
      'Bytes of memory for objects on their way to a tier; an object larger than this is never placed. Default: 256MiB.',
  }).optional(),
});

/** The placement of a configuration file. */
export const placementFactory: PlacementFactory<PlacementHandlerOptions> = {
  schema,
  create: (options) => new PlacementHandler(options),
};
