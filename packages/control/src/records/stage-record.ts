import { MOST_DESCRIBED } from '@tiered/prefetch/sampling';
import { z } from 'zod';

/** Names stand in tables, files and metrics. */
export const name = z
  .string()
  .regex(/^(?!__proto__$)[^\p{C}]{1,256}$/u, 'expected 1 to 256 characters that can be printed');
/** What operators and other jobs call a job. */
export const job = z
  .string()
  .regex(/^(?!__proto__$)[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, ".", "_" and "-"');
/**
 * The largest amount in a record: amounts are bounded, so that sums of those that others made up are numbers.
 * A dataset may be larger.
 */
export const MOST_AMOUNT = 1e15;
const amount = z.number().min(0).max(MOST_AMOUNT);

/** A rate as records have it: JSON knows no `Infinity`, so a part that is missing has no bound. */
const rate = z.object({ bytes: amount.optional(), operations: amount.optional() });

/** What a source gives: a budget of nothing would let nobody read, ever. */
const budget = z.object({ bytes: amount.gt(0).optional(), operations: amount.gt(0).optional() });

const LARGEST_WEIGHT = 1000;

/** What an operator or a job may say of how a job is treated. */
export const termsRecord = z.object({
  weight: z
    .number()
    .min(1 / LARGEST_WEIGHT)
    .max(LARGEST_WEIGHT)
    .optional(),
  priority: z.number().int().min(-100).max(100).optional(),
  atLeast: rate.optional(),
  atMost: rate.optional(),
});

/** What a stage says of one source. */
const sourceReport = z.object({
  /** What it could use. */
  wanted: rate,
  /** What it uses. */
  used: z.object({ bytes: amount, operations: amount }),
  /** Part of the time in which requests waited for the stage's share, 0 to 1. */
  waits: z.number().min(0).max(1),
  /** Milliseconds that the source takes for a request, as it is now. */
  requestMs: amount.optional(),
  /** What the source gives, if the stage was told. */
  budget: budget.optional(),
  /** What the source gives, as this stage believes from the records of all. */
  measured: amount.optional(),
});

/** Bytes or requests that are in use, and the most that there may be. */
const use = z.object({ used: amount, most: amount });

/** What a stage says of a tier that other stages of its node may fill too. All in bytes. */
const placeReport = z.object({
  /** The most that the tier may hold. */
  quota: amount,
  /** Copies that the stage has placed since it began. */
  held: amount,
  /** The largest copy for which there is room. */
  free: amount,
  /** What it holds, and the rest of its dataset. Undefined if it does not know that. */
  wanted: amount.optional(),
});

/** Names what is read and the tiers that hold it, of which others know the same name: a hash. */
export const datasetName = z.string().regex(/^[\w-]{1,64}$/);
/** A stage says as many, since registries keep small records. */
export const MOST_SEQUENCES = 4;

const count = (least: number, most: number) => z.number().int().min(least).max(most);

/** How the order comes about in which a stage reads a dataset, as a `DescribedSequence`. */
const sequence = z.object({
  dataset: datasetName,
  sampler: z.enum(['rank', 'torch']),
  first: count(0, MOST_DESCRIBED.samples),
  samples: count(0, MOST_DESCRIBED.samples),
  seed: count(0, Number.MAX_SAFE_INTEGER),
  epochs: count(1, MOST_DESCRIBED.epochs),
  epoch: count(0, MOST_DESCRIBED.epochs),
  workers: count(1, MOST_DESCRIBED.workers),
  worker: count(0, MOST_DESCRIBED.workers - 1),
  batchSize: count(1, MOST_DESCRIBED.batchSize),
  dropLast: z.boolean(),
});

/** One that cannot be, or that a later version knows, is left out: its stage is a stage all the same. */
const sequences = z
  .array(sequence.nullable().catch(null))
  .max(MOST_SEQUENCES)
  .catch([])
  .transform((list) => list.filter((one) => one !== null));

/**
 * What a stage says of itself: a few hundred bytes, which hold no keys. It holds no times either, since
 * clocks of machines differ.
 */
export const stageRecord = z.object({
  v: z.literal(1),
  kind: z.literal('stage'),
  job,
  node: name,
  terms: termsRecord,
  /** Bytes in a second that it needs to end in time. */
  needs: amount.optional(),
  /** By the name of the source. */
  sources: z.record(name, sourceReport),
  /** Part of the time in which consumers waited for samples, 0 to 1. Undefined without prefetchers. */
  stall: z.number().min(0).max(1).optional(),
  memory: use.optional(),
  producers: use.optional(),
  /** By the name of the tier, fastest first. */
  tiers: z.record(name, use),
  /** By the place of the tier. */
  places: z.record(name, placeReport).optional(),
  /** What it reads, as far as its seed says. */
  sequences: sequences.optional(),
});

/** What operators have set. The one with the highest revision holds. */
export const policyRecord = z.object({
  v: z.literal(1),
  kind: z.literal('policy'),
  revision: z.number().int().min(1),
  /** Who has set it, as they name themselves. */
  by: name.optional(),
  /** What sources give, by name. */
  sources: z.record(name, budget),
  /** How jobs are treated, by name, whatever they say themselves. */
  jobs: z.record(job, termsRecord),
  /** What the stages of a node may use together, by the name of the node; `*` is any other node. */
  nodes: z.record(
    name,
    z.object({ memory: amount.optional(), producers: z.number().int().min(1).optional() }),
  ),
});

/** A rate, as records have it. */
export type RateRecord = z.infer<typeof rate>;
/** How a job is treated, as records have it. */
export type TermsRecord = z.infer<typeof termsRecord>;
/** What a stage says of one source. */
export type SourceReport = z.infer<typeof sourceReport>;
/** What a stage says of a tier that others may fill too. */
export type PlaceReport = z.infer<typeof placeReport>;
/** What a stage says of a dataset that it reads. */
export type SequenceReport = z.infer<typeof sequence>;
/** What a stage says of itself. */
export type StageRecord = z.infer<typeof stageRecord>;
/** What operators have set. */
export type PolicyRecord = z.infer<typeof policyRecord>;

/** A stage that is there, under the name of its process. */
export interface Stage extends StageRecord {
  readonly id: string;
}
