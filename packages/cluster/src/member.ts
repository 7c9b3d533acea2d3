import { z } from 'zod';

/** What a member says of itself in the registry. */
export const memberRecord = z.object({
  /** The number of the worker, from 0. */
  rank: z.number().int().min(0),
  /** Where it serves others: `http://HOST:PORT`. Empty while it does not. */
  url: z.string().max(2048),
  /** Whether it keeps objects for others. */
  share: z.boolean(),
  /** The plan that it follows; empty without one. */
  plan: z.string().max(64).default(''),
  /** What all members have to agree on, each as text: the dataset, the seed, the plan. */
  agreed: z.record(z.string(), z.string()).default({}),
});

/** A member of a cluster, as it says of itself. */
export type MemberRecord = z.infer<typeof memberRecord>;

/** The slot of a rank in a registry. */
export const slotOf = (rank: number): string => `rank-${rank}`;
