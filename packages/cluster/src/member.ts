import { z } from 'zod';

/** A member's description of itself in the registry. */
export const memberRecord = z.object({
  /** The rank of the worker, from 0. */
  rank: z.number().int().min(0),
  /** The URL where it serves others: `http://HOST:PORT`. Empty while it does not serve. */
  url: z.union([z.literal(''), z.url({ protocol: /^https?$/ }).max(2048)]),
  /** Whether it keeps objects for others. */
  share: z.boolean(),
  /** The plan that it follows; empty without one. Undefined for a member of a static list. */
  plan: z.string().max(64).optional(),
  /** Values that all members have to agree on, each as text. Undefined for a member of a static list. */
  agreed: z.record(z.string(), z.string()).optional(),
});

/** A member of a cluster, as it describes itself. */
export type MemberRecord = z.infer<typeof memberRecord>;

/** The slot of a rank in a registry. */
export const slotOf = (rank: number): string => `rank-${rank}`;
