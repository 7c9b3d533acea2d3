/** Creates the placement from a configuration file. @module */
import { byteSize, expected, flag, group, text, wholeNumber } from '@tiered/config/fields';
import type { PlacementFactory } from '@tiered/core/placement';
import { z } from 'zod';
import { PlacementHandler } from './placement-handler.js';
import type { PlacementHandlerOptions } from './options.js';
import { firstFit } from './policies/first-fit.js';
import { lru } from './policies/lru.js';
import { pinned } from './policies/pinned.js';
import { planFollower } from './policies/plan-follower.js';
import type { PlacementPolicy } from './policies/policy.js';
import { promoting } from './policies/promoting.js';
import { sizeAware } from './policies/size-aware.js';

/** Smaller requests cost more than they gain, and usually mean a forgotten unit: `chunk: 4`. */
const LEAST_CHUNK = 4096;

const promotes = {
  promote: flag({
    title: 'Promotion',
    description:
      'Whether an object that is read from a slower tier moves to a faster one that has room for it. ' +
      'Default: false.',
  }).optional(),
};

/** Adds promotion to a policy if the file asks for it. */
function withPromotion(policy: PlacementPolicy, promote: boolean | undefined): PlacementPolicy {
  return promote === true ? promoting(policy) : policy;
}

const pin = group('a pin, such as { pattern: "val/**", level: 0 }', {
  pattern: text('a glob such as "val/**"', {
    title: 'Pattern',
    description: 'Keys, as a glob: * within a segment, ** over segments, {a,b}.',
  }),
  level: z
    .union(
      [z.int().min(0), z.literal('source')],
      expected('the number of a tier, 0 being the fastest, or "source"'),
    )
    .meta({
      title: 'Level',
      description: 'The tier to place the objects on, or source to leave them there.',
    }),
});

/** Every policy that a file can name: its name, its options, and how to create it from them. */
const POLICIES = [
  group('the policy firstFit and its options', { name: z.literal('firstFit'), ...promotes })
    .meta({
      title: 'First fit',
      description: 'Places objects on the first tier with room, and never evicts. The optimum for epochs.',
    })
    .transform(({ promote }) => withPromotion(firstFit, promote)),
  group('the policy pinned and its options', {
    name: z.literal('pinned'),
    pins: z.array(pin, expected('a list of pins, such as { pattern: "val/**", level: 0 }')).meta({
      title: 'Pins',
      description: 'The first pin that matches decides. Objects that match none are placed by first fit.',
    }),
    ...promotes,
  })
    .meta({
      title: 'Pinned',
      description: 'Places objects whose keys match a pattern on the tier of that pattern.',
    })
    .transform(({ pins, promote }) => withPromotion(pinned({ pins }), promote)),
  group('the policy sizeAware and its options', {
    name: z.literal('sizeAware'),
    largest: z
      .array(
        byteSize(0, { title: 'Size', description: 'The largest object that this tier takes.' }),
        expected('a list of sizes'),
      )
      .meta({
        title: 'Largest',
        description:
          'The largest object that each tier takes, beginning with the fastest tier. Tiers beyond the ' +
          'list take any size.',
      }),
    ...promotes,
  })
    .meta({ title: 'Size aware', description: 'First fit, with the fast tiers reserved for small objects.' })
    .transform(({ largest, promote }) => withPromotion(sizeAware({ largest }), promote)),
  group('the policy lru and its options', { name: z.literal('lru'), ...promotes })
    .meta({
      title: 'Least recently used',
      description: 'Evicts the least recently read copies from a full tier. Not for epochs.',
    })
    .transform(({ promote }) => withPromotion(lru, promote)),
  group('the policy planFollower and its options', { name: z.literal('planFollower') })
    .meta({
      title: 'Plan follower',
      description:
        'Places the objects that a worker reads most often, which a clairvoyant loader knows from the ' +
        'seed. Places nothing without a plan.',
    })
    .transform(() => planFollower()),
] as const;

const names = POLICIES.map((policy) => policy.in.shape.name.value);
const aPolicy = `a policy: ${names.join(', ')}`;

const withOptions = z.discriminatedUnion('name', POLICIES, {
  error: ({ input }) => expected(aPolicy).error({ input: (input as { readonly name?: unknown }).name }),
});

/** How to write policies that need options. */
const WRITTEN: Readonly<Record<string, string>> = {
  pinned: '{ name: pinned, pins: [{ pattern: "val/**", level: 0 }] }',
  sizeAware: '{ name: sizeAware, largest: [1MiB] }',
};
const orOptions = expected(
  `${aPolicy}, or { name, ...its options }; a policy made in code goes to PlacementHandler`,
);

function policyError({ input }: { readonly input?: unknown }): string {
  const written = typeof input === 'string' && Object.hasOwn(WRITTEN, input) ? WRITTEN[input] : undefined;
  return written === undefined
    ? orOptions.error({ input })
    : `${String(input)} needs options; write ${written}`;
}

/** Policies that need no options may be named alone. */
const byName = z
  .enum(names.filter((name) => withOptions.safeParse({ name }).success))
  .transform((name) => withOptions.parse({ name }));

const schema = group('options of the placement, such as { concurrency: 6 }', {
  policy: z
    .union([byName, withOptions], { error: policyError })
    .meta({
      title: 'Policy',
      description:
        'The policy that decides where an object is placed: a name, or a mapping with name and options. ' +
        'Default: firstFit.',
    })
    .optional(),
  concurrency: wholeNumber(1, {
    title: 'Concurrency',
    description:
      'Maximum number of concurrent background requests to the source. Writes to tiers begin with the ' +
      'same number, and adapt. Default: 6.',
  }).optional(),
  chunk: byteSize(LEAST_CHUNK, {
    title: 'Chunk',
    description:
      'Bytes of one request to the source while an object is placed, at least 4KiB. No quota may be ' +
      'smaller. Default: 4MiB at first, then between 1 and 16MiB by the speed of the source.',
  }).optional(),
  memory: byteSize(0, {
    title: 'Memory',
    description: 'Bytes of memory for chunks on their way to tiers. Default: 256MiB.',
  }).optional(),
  whenBehind: z
    .enum(['wait', 'goOn'], expected('"wait" or "goOn"'))
    .meta({
      title: 'When behind',
      description:
        'Handling of a read while that memory is full because tiers are slower than the source: wait ' +
        'delays it until its object can be placed (each object is fetched once), goOn serves it at once ' +
        '(its object is placed later, by a second fetch). Default: wait.',
    })
    .optional(),
});

/** The placement of a configuration file. */
export const placementFactory: PlacementFactory<PlacementHandlerOptions> = {
  schema,
  create: (options) => new PlacementHandler(options),
};
