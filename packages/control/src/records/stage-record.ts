import { MOST_DESCRIBED } from '@tiered/prefetch/sampling';
import { z } from 'zod';

/** A name, which is used in tables, files and metrics. */
export const name = z
  .string()
  .regex(/^(?!__proto__$)[^\p{C}]{1,256}$/u, 'expected 1 to 256 characters that can be printed');
/** The name of a job for operators and other jobs. */
export const job = z
  .string()
  .regex(/^(?!__proto__$)[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, ".", "_" and "-"');
/**
 * The largest amount in a record. Amounts are bounded, so that sums of amounts invented by others are still
 * numbers. A dataset may be larger.
 */
export const MOST_AMOUNT = 1e15;
const amount = z.number().min(0).max(MOST_AMOUNT);

/** A rate in a record. JSON has no `Infinity`, so a missing part has no bound. */
const rate = z.object({ bytes: amount.optional(), operations: amount.optional() });

/** The capacity of a source. Not 0, which would block all reads for ever. */
const budget = z.object({ bytes: amount.gt(0).optional(), operations: amount.gt(0).optional() });

const LARGEST_WEIGHT = 1000;

/** The terms of a job, as an operator or the job may set them. */
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

/** A stage's report on one source. */
const sourceReport = z.object({
  /** The rate it could use. */
  wanted: rate,
  /** The rate it uses. */
  used: z.object({ bytes: amount, operations: amount }),
  /** Fraction of the time during which requests waited for the stage's share, 0 to 1. */
  waits: z.number().min(0).max(1),
  /** Milliseconds the source takes for a request at present. */
  requestMs: amount.optional(),
  /** The capacity of the source, if it was given to the stage. */
  budget: budget.optional(),
  /** The capacity of the source, as this stage estimates it from the records of all. */
  measured: amount.optional(),
});

/** Bytes or requests in use, and the most there may be. */
const use = z.object({ used: amount, most: amount });

/** A stage's report on a tier that other stages of its node may fill too. All in bytes. */
const placeReport = z.object({
  /** The most that the tier may hold. */
  quota: amount,
  /** Copies that the stage has placed since it began. */
  held: amount,
  /** The largest copy that has room. */
  free: amount,
  /** The copies it holds, and the rest of its dataset. Undefined if it does not know that. */
  wanted: amount.optional(),
});

/** Names a dataset and the tiers that hold it, with the same name at other stages: a hash. */
export const datasetName = z.string().regex(/^[\w-]{1,64}$/);
/** The most sequences of a stage, since registries keep small records. */
export const MOST_SEQUENCES = 4;

const count = (least: number, most: number) => z.number().int().min(least).max(most);

/** A description of the order in which a stage reads a dataset, as a `DescribedSequence`. */
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

/** An invalid sequence, or one of a later version, is left out; the rest of the record stays valid. */
const sequences = z
  .array(sequence.nullable().catch(null))
  .max(MOST_SEQUENCES)
  .catch([])
  .transform((list) => list.filter((one) => one !== null));

/**
 * The record of a stage: a few hundred bytes, without keys. It has no times either, since the clocks of
 * machines differ.
 */
export const stageRecord = z.object({
  v: z.literal(1),
  kind: z.literal('stage'),
  job,
  node: name,
  terms: termsRecord,
  /** Bytes per second it needs to finish in time. */
  needs: amount.optional(),
  /** By the name of the source. */
  sources: z.record(name, sourceReport),
  /**
   * Fraction of the time during which consumers waited for samples, 0 to 1. Undefined without prefetchers.
   */
  stall: z.number().min(0).max(1).optional(),
  memory: use.optional(),
  producers: use.optional(),
  /** By the name of the tier, fastest first. */
  tiers: z.record(name, use),
  /** By the place of the tier. */
  places: z.record(name, placeReport).optional(),
  /** The sequences it reads, as far as its seed determines them. */
  sequences: sequences.optional(),
});

/** A policy that operators have set. The one with the highest revision is in force. */
export const policyRecord = z.object({
  v: z.literal(1),
  kind: z.literal('policy'),
  revision: z.number().int().min(1),
  /** The operator who set it, by the name they gave. */
  by: name.optional(),
  /** Capacities of sources, by name. */
  sources: z.record(name, budget),
  /** Terms of jobs, by name. They override the jobs' own terms. */
  jobs: z.record(job, termsRecord),
  /** The most that the stages of a node may use together, by the name of the node; `*` is any other node. */
  nodes: z.record(
    name,
    z.object({ memory: amount.optional(), producers: z.number().int().min(1).optional() }),
  ),
});

/** A rate in a record. */
export type RateRecord = z.infer<typeof rate>;
/** The terms of a job in a record. */
export type TermsRecord = z.infer<typeof termsRecord>;
/** A stage's report on one source. */
export type SourceReport = z.infer<typeof sourceReport>;
/** A stage's report on a tier that others may fill too. */
export type PlaceReport = z.infer<typeof placeReport>;
/** A stage's report on a dataset that it reads. */
export type SequenceReport = z.infer<typeof sequence>;
/** The record of a stage. */
export type StageRecord = z.infer<typeof stageRecord>;
/** A policy that operators have set. */
export type PolicyRecord = z.infer<typeof policyRecord>;

/** A present stage, with the id of its process. */
export interface Stage extends StageRecord {
  readonly id: string;
}
