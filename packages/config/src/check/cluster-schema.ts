import { z } from 'zod';
import {
  expected,
  flag,
  group,
  milliseconds,
  oneOf,
  secret,
  text,
  wholeNumber,
  wholeNumberOrText,
} from '../fields.js';
import { tableName, tables } from './registry-schema.js';

const SHORTEST_TOKEN = 16;
const MOST_WORKERS = 2 ** 20;

const A_URL = 'a URL such as "http://worker-0.training:9440"';
const url = z.string(expected(A_URL)).regex(/^https?:\/\/[^/@?#\s]+\/?$|\$\{/, expected(A_URL));

const A_REGISTRY = 'sqlite, torch, { sqlite: FILE }, { nats: { servers: [...] } } or { peers: [URL, ...] }';

const registry = z
  .union(
    [
      z.enum(['sqlite', 'torch'], expected(A_REGISTRY)),
      ...tables(A_REGISTRY),
      group(A_REGISTRY, {
        peers: z
          .array(url, expected(`a list: ${A_URL}`))
          .min(1, expected(`a list: ${A_URL}`))
          .meta({
            title: 'Peers',
            description: 'The URLs of the workers, beginning with that of rank 0. Needs rank.',
          }),
      }),
    ],
    expected(A_REGISTRY),
  )
  .meta({
    title: 'Registry',
    description:
      'The list of workers: sqlite, a file of this user and machine; torch, WORLD_SIZE workers at ' +
      'TIERED_PEERS, such as worker-{rank}.training:9440; or a mapping with sqlite, nats or peers. ' +
      'Default: sqlite.',
  });

const plan = group('the order of a training, such as { sampler: torch, seed: 0, epochs: 90 }', {
  sampler: oneOf(['torch', 'rank'], {
    title: 'Sampler',
    description:
      "torch is PyTorch's DistributedSampler over the keys in their order; rank is the sampler of a " +
      'DataLoader of this SDK.',
  }),
  seed: wholeNumberOrText(0, {
    title: 'Seed',
    description: 'The seed of the training run, which decides its order.',
  }),
  epochs: wholeNumberOrText(1, { title: 'Epochs', description: 'Number of epochs.' }),
  batchSize: wholeNumber(1, {
    title: 'Batch size',
    description: 'Samples in a batch of one worker. Only with sampler: rank. Default: 1.',
  }).optional(),
  dropLast: flag({
    title: 'Drop last',
    description:
      'Whether the training run leaves out samples that do not fill a batch for every worker. Default: ' +
      'false.',
  }).optional(),
}).meta({
  title: 'Plan',
  description:
    'The order in which all workers read the objects, for programs that know nothing of tiers. Each ' +
    'object is a sample. Needs size, unless the registry is torch or names peers, and placement: ' +
    '{ policy: planFollower }. openDataset ignores it, because its loaders make their own plans. ' +
    'Default: none; hashing gives each object a home.',
});

/** The section `cluster`. */
export const cluster = group('the workers of a training, such as { name: imagenet }', {
  name: tableName('Name of the cluster, the same for all of its workers: letters, digits, _ and -.'),
  registry: registry.optional(),
  rank: wholeNumberOrText(0, {
    title: 'Rank',
    description:
      'The number of this worker, from 0, such as ${RANK}. Default: the lowest free number; with torch, ' +
      'RANK.',
  }).optional(),
  size: wholeNumberOrText(1, {
    title: 'Size',
    description:
      'The number of workers, such as ${WORLD_SIZE}, if it is fixed. Default: the number in the registry; ' +
      'with torch, WORLD_SIZE; with peers, the length of the list.',
  })
    .refine((size) => size <= MOST_WORKERS, expected(`at most ${MOST_WORKERS}`))
    .optional(),
  token: secret(
    `a secret of at least ${SHORTEST_TOKEN} characters, such as "\${TIERED_TOKEN}"`,
    SHORTEST_TOKEN,
    {
      title: 'Token',
      description:
        'The secret with which workers sign their requests, such as ${TIERED_TOKEN}, of at least 16 ' +
        'characters. Needed unless host is a loopback address. Default: none.',
    },
  ).optional(),
  share: flag({
    title: 'Share',
    description: 'Whether this worker keeps objects for others. Default: true.',
  }).optional(),
  host: text('an address', {
    title: 'Host',
    description: 'The address to serve other workers on, such as 0.0.0.0. Default: 127.0.0.1.',
  }).optional(),
  port: wholeNumberOrText(0, {
    title: 'Port',
    description:
      'The port to serve other workers on. Default: a free one; with peers and torch, the port of this ' +
      "worker's URL.",
  })
    .refine((port) => port < 2 ** 16, expected('a port, from 0 to 65535'))
    .optional(),
  advertise: url
    .meta({
      title: 'Advertised URL',
      description:
        'The URL at which others reach this worker, such as http://worker-3.training:9440. Default: made ' +
        'from host and port.',
    })
    .optional(),
  deadlineMs: milliseconds('more than 0', {
    title: 'Deadline',
    description:
      'Milliseconds that another worker has to answer, before the source is read. The worker may have to ' +
      'fetch the object first. Default: 5000.',
  }).optional(),
  plan: plan.optional(),
})
  .superRefine((given, context) => {
    for (const [path, message] of mistakesIn(given))
      context.addIssue({ code: 'custom', path: [path], message });
  })
  .meta({
    title: 'Cluster',
    description:
      'Lets several workers read from the tiers of each other. Workers are openDataset, "tiered serve", ' +
      '"tiered run" and "tiered daemon"; other commands ignore the section. Needs @tiered/cluster. ' +
      'Default: this worker is alone.',
  });

interface Given {
  readonly registry?: unknown;
  readonly rank?: number | undefined;
  readonly size?: number | undefined;
  readonly plan?: { readonly sampler: string; readonly batchSize?: number | undefined } | undefined;
}

/** Settings that cannot be combined. */
function* mistakesIn({ registry: given, rank, size, plan: planned }: Given): Generator<[string, string]> {
  const peers = (given as { readonly peers?: readonly string[] } | undefined)?.peers;
  if (peers !== undefined && rank === undefined)
    yield ['rank', 'missing; with peers, each worker has to know its own'];
  if (peers !== undefined && size !== undefined && size !== peers.length)
    yield ['size', `expected ${peers.length}, the number of the peers`];
  const workers = size ?? peers?.length;
  if (rank !== undefined && workers !== undefined && rank >= workers)
    yield ['rank', `expected a number from 0 to ${workers - 1}`];
  if (planned === undefined) return;
  if (workers === undefined && given !== 'torch')
    yield ['size', 'missing; a plan is of a fixed number of workers'];
  if (planned.sampler === 'torch' && planned.batchSize !== undefined)
    yield ['plan', 'batchSize cannot be combined with sampler: torch, whose order has no batches'];
}
